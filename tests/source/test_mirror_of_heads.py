"""The heads of pull requests in a repository beside the mirror, and pushes to the original."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bbops.base.errors import GitError
from bbops.source.git import head_mirror
from bbops.source.git.address import Address
from bbops.source.git.environment import Limits
from bbops.source.git.head_mirror import HeadMirror, measure_folder
from bbops.source.git.mirror import Mirror
from tests.support.served import git

pytestmark = pytest.mark.quick
HEADER = "Authorization: Basic bm9ib2R5Om5vdGhpbmc="


class Original:
    """A repository with a working copy, and a mirror of it."""

    def __init__(self, folder: Path) -> None:
        self.bare, self.work = folder / "bare.git", folder / "work"
        git(folder, "init", "-q", "--bare", "-b", "main", str(self.bare))
        git(folder, "clone", "-q", str(self.bare), str(self.work))
        self.commit("one")
        git(self.work, "push", "-q", "origin", "HEAD:main")
        address = Address.parse(self.bare.as_uri())
        assert address is not None
        self.mirror = Mirror(folder / "mirror", address)
        self.heads = HeadMirror(folder / "heads", address, borrows=folder / "mirror")
        self.mirror.update("main")

    def commit(self, text: str) -> str:
        """Commit a file; return the commit."""
        (self.work / "file").write_text(text, encoding="utf-8")
        git(self.work, "add", "file")
        git(self.work, "commit", "-qm", text)
        return git(self.work, "rev-parse", "HEAD").strip()

    def propose(self, number: int, text: str) -> str:
        """Push a commit to the head of a pull request."""
        commit = self.commit(text)
        git(self.work, "push", "-qf", "origin", f"HEAD:refs/pull/{number}/head")
        return commit

    def tip(self, ref: str) -> str:
        """Return the commit of a ref of the original; empty without it."""
        return git(self.bare, "for-each-ref", "--format=%(objectname)", ref).strip()


@pytest.fixture
def original(tmp_path: Path) -> Original:
    """A repository with one commit on main."""
    return Original(tmp_path)


def test_heads_are_fetched_moved_and_removed(original: Original) -> None:
    seven, eight = "refs/pull/7/head", "refs/pull/8/head"
    first, other = original.propose(7, "two"), original.propose(8, "three")
    assert original.heads.take_heads([seven, eight]) == {seven: first, eight: other}
    moved = original.propose(7, "four")
    assert original.heads.take_heads([seven]) == {seven: moved}
    assert original.heads.take_heads([seven, "refs/pull/99/head"]) == {seven: moved}
    assert original.heads.take_heads([]) == {}


def test_heads_stay_out_of_the_mirror(original: Original, tmp_path: Path) -> None:
    commit = original.propose(7, "two")
    original.heads.take_heads(["refs/pull/7/head"])
    assert git(tmp_path / "heads", "cat-file", "-t", commit).strip() == "commit"
    with pytest.raises(Exception, match="cat-file"):
        git(tmp_path / "mirror", "cat-file", "-t", commit)


def test_a_head_that_is_too_large_leaves_no_files_and_waits(
    original: Original, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_mirror, "_HEAD_LIMITS", Limits(60.0, file_bytes=64 << 10))
    for number in range(120):  # git writes a pack for more than a hundred objects
        (original.work / f"{number}.bin").write_bytes(os.urandom(2_000))
    git(original.work, "add", "-A")
    original.propose(7, "large")
    git(original.work, "reset", "-q", "--hard", "origin/main")
    small = original.propose(8, "small")
    refs = ["refs/pull/7/head", "refs/pull/8/head"]
    assert original.heads.take_heads(refs) == {refs[1]: small}
    assert measure_folder(tmp_path / "heads" / "objects") < 10_000
    monkeypatch.undo()
    assert original.heads.take_heads(refs) == {refs[1]: small}
    fixed = original.propose(7, "fixed")
    assert original.heads.take_heads(refs) == {refs[0]: fixed, refs[1]: small}


def test_heads_take_a_bounded_space_and_old_ones_make_room(
    original: Original, monkeypatch: pytest.MonkeyPatch
) -> None:
    (original.work / "large.bin").write_bytes(os.urandom(200_000))
    git(original.work, "add", "-A")
    large = original.propose(7, "large")
    git(original.work, "reset", "-q", "--hard", "origin/main")
    small = original.propose(8, "small")
    monkeypatch.setattr(head_mirror, "MAX_HEADS_BYTES", 100_000)
    refs = ["refs/pull/7/head", "refs/pull/8/head"]
    assert original.heads.take_heads(refs) == {refs[0]: large}
    assert original.heads.take_heads(refs[1:]) == {refs[1]: small}


def test_a_branch_is_pushed_only_from_the_expected_commit(original: Original) -> None:
    base = original.tip("refs/heads/main")
    original.mirror.push_branch("draft", base, "")
    assert original.tip("refs/heads/draft") == base
    newer = original.commit("two")
    git(original.work, "push", "-q", "origin", "HEAD:draft")
    with pytest.raises(GitError):
        original.mirror.push_branch("draft", base, base)
    assert original.tip("refs/heads/draft") == newer


def test_the_mirror_forgets_a_commit_that_was_not_pushed(
    original: Original, tmp_path: Path
) -> None:
    base = original.tip("refs/heads/main")
    git(tmp_path / "mirror", "update-ref", "refs/heads/draft", base)
    original.commit("two")
    git(original.work, "push", "-q", "origin", "HEAD:draft")
    with pytest.raises(GitError):
        original.mirror.push_branch("draft", base, "")
    answer = git(tmp_path / "mirror", "for-each-ref", "refs/heads/draft")
    assert answer == ""


def test_a_branch_that_is_gone_over_there_is_removed(original: Original, tmp_path: Path) -> None:
    git(original.work, "push", "-q", "origin", "HEAD:draft")
    assert original.mirror.take_branch("draft") == original.tip("refs/heads/main")
    git(original.work, "push", "-q", "origin", ":draft")
    assert original.mirror.take_branch("draft") is None
    assert git(tmp_path / "mirror", "for-each-ref", "refs/heads/draft") == ""


class Listener(ThreadingHTTPServer):
    """Keeps the Authorization headers of requests; redirects all to `target`, if there is one."""

    daemon_threads = True

    def __init__(self, target: str = "") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target, self.headers = target, list[str | None]()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def port(self) -> int:
        """The port."""
        return int(self.server_address[1])

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Listener

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        self.server.headers.append(self.headers["authorization"])
        self.send_response(302 if self.server.target else 404)
        if self.server.target:
            self.send_header("location", self.server.target + self.path)
        self.send_header("content-length", "0")
        self.end_headers()


@pytest.fixture
def other() -> Iterator[Listener]:
    """Another server, under another host name."""
    with Listener() as listener:
        yield listener


def test_the_header_goes_to_the_host_of_the_repository_alone(
    other: Listener, tmp_path: Path
) -> None:
    with Listener(f"http://localhost:{other.port}") as forge:
        address = Address.parse(f"http://127.0.0.1:{forge.port}/acme/shop.git")
        assert address is not None
        mirror = Mirror(tmp_path / "mirror", address)
        mirror.authorization = HEADER
        with pytest.raises(GitError):
            mirror.branches()
        assert forge.headers[0] == HEADER.partition(": ")[2]
    assert other.headers
    assert set(other.headers) == {None}


def test_the_header_is_in_no_message(tmp_path: Path) -> None:
    with Listener() as forge:
        address = Address.parse(f"http://127.0.0.1:{forge.port}/acme/shop.git")
        assert address is not None
        mirror = Mirror(tmp_path / "mirror", address)
        mirror.authorization = HEADER
        with pytest.raises(GitError) as caught:
            mirror.branches()
    assert "bm9ib2R5" not in f"{caught.value}{caught.value.hint}"
