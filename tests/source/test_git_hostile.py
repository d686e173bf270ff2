"""Repositories made to harm: nothing of theirs runs, and nothing takes for ever."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from bbops.base.errors import GitError
from bbops.language.loading.load import load
from bbops.source.git import command as command_module
from bbops.source.git.address import Address
from bbops.source.git.arrivals import find_changed
from bbops.source.git.command import run
from bbops.source.git.comparing import read_patch
from bbops.source.git.environment import Limits
from bbops.source.git.mirror import Mirror
from bbops.source.git.place import find_repository
from bbops.source.git.store import GitTree, Store
from bbops.source.tree import BlobId
from tests.support.git_store import Git, clean_environment, git, head, repository

__all__ = ["clean_environment", "git", "repository"]

HOOKS = (
    "pre-commit", "post-checkout", "post-merge", "reference-transaction", "post-index-change",
    "fsmonitor-watchman", "post-rewrite", "pre-auto-gc", "proc-receive", "update", "post-update",
)  # fmt: skip


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A program that leaves a trace when it runs; the trace is `canary.dead`."""
    path = tmp_path / "canary"
    path.write_text(f"#!/bin/sh\ntouch {path}.dead\ncat >/dev/null 2>&1 </dev/null\n")
    path.chmod(0o755)
    return path


def is_alive(canary: Path) -> bool:
    return not canary.with_name("canary.dead").exists()


def poison(repository: Path, git: Git, canary: Path) -> None:
    """Name the canary in every place where git runs what a repository says."""
    for hook in HOOKS:
        path = repository / ".git/hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(canary)
    for key in (
        "core.fsmonitor", "core.sshCommand", "core.pager", "pager.log", "core.editor",
        "core.askPass", "core.gitProxy", "core.alternateRefsCommand", "gpg.program",
        "gpg.ssh.program", "diff.external", "diff.evil.textconv", "diff.evil.command",
        "filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "merge.evil.driver",
        "credential.helper", "uploadpack.packObjectsHook", "remote.origin.uploadpack",
        "sequence.editor", "interactive.diffFilter", "trailer.evil.command", "alias.log",
        "alias.ls-tree", "alias.cat-file",
    ):  # fmt: skip
        git(repository, "config", key, str(canary))
    for key, value in {
        "log.showSignature": "true", "extensions.partialClone": "origin",
        "remote.origin.promisor": "true", "remote.origin.url": str(repository),
        "protocol.file.allow": "always", "protocol.ext.allow": "always",
        "core.hooksPath": str(repository / ".git/hooks"), "core.repositoryFormatVersion": "1",
    }.items():  # fmt: skip
        git(repository, "config", key, value)


def commit_tree(repository: Path, git: Git, tree: str) -> str:
    """Put a crafted tree onto main."""
    made = git(repository, "commit-tree", tree, "-m", "crafted")
    git(repository, "update-ref", "refs/heads/main", made)
    return made


def make_tree(repository: Path, git: Git, rows: list[tuple[str, str, str]]) -> str:
    """Write a tree that git itself might refuse to make; rows are mode, id, name."""
    path = repository / "tree"
    path.write_bytes(
        b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(blob) for mode, blob, name in rows)
    )
    made = git(repository, "hash-object", "--literally", "-t", "tree", "-w", str(path))
    path.unlink()
    return made


def test_nothing_a_repository_names_runs_while_it_is_read(
    repository: Path, git: Git, canary: Path
) -> None:
    (repository / ".gitattributes").write_text("* filter=evil diff=evil merge=evil text eol=crlf\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "Say how to read")
    poison(repository, git, canary)
    store = Store.open(repository)
    newest = head(store)
    blobs = [entry.blob for entry in store.entries(newest)]
    assert store.read(blobs)[blobs[1]] == b"a: 1\n"
    assert store.subject(newest) == "Say how to read"
    assert store.is_ancestor(store.parents(newest)[0], newest)
    assert is_alive(canary)


def test_a_missing_blob_is_not_fetched_from_where_the_repository_says(
    repository: Path, git: Git, canary: Path
) -> None:
    tree = git(repository, "mktree", "--missing", given=f"100644 blob {'1' * 40}\tx.yaml")
    made = commit_tree(repository, git, tree)
    poison(repository, git, canary)
    store = Store.open(repository)
    for url in (f"ext::{canary}", str(repository), "ssh://host/x"):
        git(repository, "config", "remote.origin.url", url)
        with suppress(GitError):
            assert store.entries(made)[0].size_bytes == 0
        with suppress(GitError):
            assert store.read([BlobId("1" * 40)]) == {}
        assert is_alive(canary)


def test_nothing_a_repository_names_runs_while_it_is_mirrored(
    repository: Path, git: Git, canary: Path, tmp_path: Path
) -> None:
    newest = git(repository, "rev-parse", "HEAD")
    git(repository, "tag", "evil")
    git(repository, "branch", "other")
    poison(repository, git, canary)
    git(repository, "config", "--unset", "extensions.partialClone")
    mirror = Mirror(tmp_path / "mirror", Address.parse(f"file://{repository}"))  # type: ignore[arg-type]
    assert mirror.update("main").commit == newest
    assert git(tmp_path / "mirror", "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert is_alive(canary)


def test_replaced_and_grafted_commits_are_read_as_they_are(repository: Path, git: Git) -> None:
    first = git(repository, "rev-parse", "HEAD")
    (repository / "new.yaml").write_bytes(b"")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "--amend", "-m", "Other")
    second = git(repository, "rev-parse", "HEAD")
    git(repository, "replace", first, second)
    (repository / ".git/info").mkdir(exist_ok=True)
    (repository / ".git/info/grafts").write_text(f"{second} {first}\n")
    store = Store.open(repository)
    assert len(store.entries(first)) == 2
    assert store.parents(second) == ()
    assert not store.is_ancestor(first, second)


@pytest.mark.long
@pytest.mark.parametrize("leaf", ["file", "nothing"])
def test_a_tree_that_holds_itself_again_and_again_is_refused(
    repository: Path, git: Git, leaf: str
) -> None:
    blob = git(repository, "rev-parse", "HEAD:a.yaml")
    rows = [("100644", blob, "a.yaml")] if leaf == "file" else []
    tree = make_tree(repository, git, rows)
    for _ in range(12):
        tree = make_tree(repository, git, [("40000", tree, f"{n:x}") for n in range(10)])
    store, began = Store.open(repository), time.monotonic()
    with pytest.raises(GitError, match="too many files") as raised:
        store.entries(commit_tree(repository, git, tree))
    assert "--path" in raised.value.hint
    assert time.monotonic() - began < 40


@pytest.mark.long
def test_folders_without_end_are_refused(repository: Path, git: Git) -> None:
    blob = git(repository, "rev-parse", "HEAD:a.yaml")
    tree = make_tree(repository, git, [("100644", blob, "a.yaml")])
    for _ in range(1000):
        tree = make_tree(repository, git, [("40000", tree, "d" * 200)])
    store = Store.open(repository)
    with pytest.raises(GitError):
        store.entries(commit_tree(repository, git, tree))


def test_names_that_collide_are_no_files(repository: Path, git: Git) -> None:
    blob = git(repository, "rev-parse", "HEAD:a.yaml")
    twice = make_tree(repository, git, [("100644", blob, "a.yaml"), ("120000", blob, "a.yaml")])
    store = Store.open(repository)
    assert [e.kind for e in store.entries(commit_tree(repository, git, twice))] == ["other"] * 2
    cases = [("100644", blob, name) for name in ("NOTES.yaml", "Notes.yaml", "notes.yaml")]
    tables = make_tree(repository, git, cases)
    made = commit_tree(repository, git, make_tree(repository, git, [("40000", tables, "tables")]))
    found = load(GitTree(store, made)).diagnostics
    assert {(one.place.file, one.code) for one in found if one.code == "file-name"} == {
        ("tables/NOTES.yaml", "file-name"), ("tables/Notes.yaml", "file-name"),
    }  # fmt: skip


@pytest.mark.long
def test_a_branch_among_ten_thousand_refs_is_found(
    repository: Path, git: Git, tmp_path: Path
) -> None:
    newest = git(repository, "rev-parse", "HEAD")
    lines = "".join(f"create refs/heads/b{n} {newest}\n" for n in range(10_000))
    git(repository, "update-ref", "--stdin", given=lines)
    began = time.monotonic()
    assert head(Store.open(repository)) == newest
    mirror = Mirror(tmp_path / "mirror", Address.parse(f"file://{repository}"))  # type: ignore[arg-type]
    assert mirror.update("main").commit == newest
    assert time.monotonic() - began < 40
    assert git(tmp_path / "mirror", "for-each-ref", "--format=%(refname)") == "refs/heads/main"


@pytest.mark.parametrize("name", [".git", "..", ".", ""])
def test_a_mirror_refuses_trees_that_lead_out(
    repository: Path, git: Git, tmp_path: Path, name: str
) -> None:
    good = git(repository, "rev-parse", "HEAD")
    mirror = Mirror(tmp_path / "mirror", Address.parse(f"file://{repository}"))  # type: ignore[arg-type]
    mirror.update("main")
    inner = make_tree(repository, git, [])
    commit_tree(repository, git, make_tree(repository, git, [("40000", inner, name)]))
    with pytest.raises(GitError, match="git fetch failed"):
        mirror.update("main")
    assert git(tmp_path / "mirror", "rev-parse", "main") == good


def test_a_pack_that_fills_the_disk_is_cut_off(
    repository: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "huge").write_bytes(os.urandom(3 << 20))
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "Add")
    monkeypatch.setattr("bbops.source.git.mirror.MAX_FILE_BYTES", 1 << 20)
    mirror = Mirror(tmp_path / "mirror", Address.parse(f"file://{repository}"))  # type: ignore[arg-type]
    with pytest.raises(GitError, match="git fetch failed"):
        mirror.update("main")
    left = sum(path.stat().st_size for path in (tmp_path / "mirror").rglob("*") if path.is_file())
    assert left < 2 << 20
    monkeypatch.setattr("bbops.source.git.mirror.MAX_FILE_BYTES", 1 << 30)
    assert mirror.update("main").commit == git(repository, "rev-parse", "HEAD")


def test_submodules_are_not_followed(
    repository: Path, git: Git, tmp_path: Path, canary: Path
) -> None:
    (repository / ".gitmodules").write_text(
        f'[submodule "evil"]\n\tpath = evil\n\turl = ext::{canary}\n\tupdate = !{canary}\n'
    )
    commit_id = git(repository, "rev-parse", "HEAD")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{commit_id},evil")
    git(repository, "add", ".gitmodules")
    git(repository, "commit", "-q", "-m", "Add")
    store = Store.open(repository)
    kinds = {entry.path: entry.kind for entry in store.entries(head(store))}
    assert kinds["evil"] == "submodule"
    mirror = Mirror(tmp_path / "mirror", Address.parse(f"file://{repository}"))  # type: ignore[arg-type]
    with pytest.raises(GitError, match="git fetch failed"):
        mirror.update("main")
    assert is_alive(canary)


def test_settings_that_lead_to_a_command_are_refused(
    repository: Path, git: Git, tmp_path: Path, canary: Path
) -> None:
    (tmp_path / "home").mkdir(exist_ok=True)
    git(tmp_path, "config", "--global", f"url.ext::{canary} .insteadOf", "https://example.org/")
    address = Address.parse("https://example.org/a.git")
    assert address is not None
    with pytest.raises(GitError, match="not allowed") as raised:
        Mirror(tmp_path / "mirror", address).update("main")
    assert "insteadOf" in raised.value.hint
    assert is_alive(canary)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_a_repository_of_somebody_else_is_read_or_refused_by_name(
    repository: Path, git: Git, tmp_path: Path, canary: Path
) -> None:
    newest = git(repository, "rev-parse", "HEAD")
    poison(repository, git, canary)
    for path in [repository, *repository.rglob("*")]:
        os.chown(path, 12345, 12345, follow_symlinks=False)
    assert head(Store.open(repository)) == newest
    address = Address.parse(f"file://{repository}")
    assert address is not None
    with pytest.raises(GitError, match="dubious ownership"):
        Mirror(tmp_path / "mirror", address).update("main")
    assert is_alive(canary)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes have no names there")
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_module, "TIMEOUT_SECONDS", 0.5)
    store = Store.open(repository)
    (repository / ".git/refs/heads/main").unlink()
    os.mkfifo(repository / ".git/refs/heads/main")
    with pytest.raises(GitError, match="did not finish within"):
        store.resolve("main")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "folder/.git")
    with pytest.raises(GitError, match="is not a git repository"):
        find_repository(tmp_path / "folder")


def test_output_without_end_is_cut_off(repository: Path) -> None:
    answer = run(find_repository(repository), ("log",), limits=Limits(output_bytes=10))
    assert answer.ended == "printed more than 10 bytes"


@pytest.mark.long
def test_a_difference_without_end_is_given_up(repository: Path, git: Git) -> None:
    blob = git(repository, "hash-object", "-w", "--stdin", given="x")
    row = "100644 blob " + blob
    for _ in range(12):
        rows = "\n".join(f"{row}\tn{number}" for number in range(10))
        row = "040000 tree " + git(repository, "mktree", given=rows)
    place, tree = find_repository(repository), row.rpartition(" ")[2]
    with pytest.raises(GitError, match="the difference is too large"):
        read_patch(place, "HEAD", tree)
    commit = git(repository, "commit-tree", "-p", "HEAD", "-m", "No end", tree)
    assert find_changed(place, "main", commit) is None
