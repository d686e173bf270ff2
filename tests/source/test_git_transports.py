"""Transports that misbehave, by a stand-in for ssh; and mirrors that were left half done."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bbops.base.errors import GitError
from bbops.source.git.address import Address
from bbops.source.git.mirror import Mirror
from tests.support.git_store import Git, clean_environment, git, repository
from tests.support.patience import wait_for

__all__ = ["clean_environment", "git", "repository"]


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Mirror]:
    """Return a mirror whose ssh runs this script."""

    def make(script: str) -> Mirror:
        path = tmp_path / "ssh"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("GIT_SSH_COMMAND", str(path))
        monkeypatch.setenv("GIT_SSH_VARIANT", "simple")
        return Mirror(tmp_path / "mirror", Address.parse("git@host:a.git"))  # type: ignore[arg-type]

    return make


def test_a_host_that_hangs_is_ended_with_all_it_started(
    ssh: Callable[[str], Mirror], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bbops.source.git.mirror.ASK_SECONDS", 3)
    mirror = ssh(f"sleep 60 & echo $! > {tmp_path}/pid; wait")
    with pytest.raises(GitError, match="git ls-remote did not finish within"):
        mirror.update("main")
    process = int((tmp_path / "pid").read_text())
    wait_for(lambda: not is_running(process))


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


@pytest.mark.long
@pytest.mark.parametrize("stream", [1, 2])
def test_a_host_that_never_stops_talking_is_ended(
    ssh: Callable[[str], Mirror], monkeypatch: pytest.MonkeyPatch, stream: int
) -> None:
    monkeypatch.setattr("bbops.source.git.mirror.ASK_SECONDS", 1.0)
    with pytest.raises(GitError):
        ssh(f"exec yes 0032want >&{stream}").update("main")


def test_what_ssh_says_is_told_without_escapes(ssh: Callable[[str], Mirror]) -> None:
    with pytest.raises(GitError) as raised:
        ssh("printf 'no \\033[2Jkey for you\\n' >&2; exit 255").update("main")
    assert "git ls-remote failed: no  [2Jkey for you" in raised.value.message
    assert "host:a.git: " in raised.value.message


def test_what_a_killed_fetch_has_left_is_cleared(
    repository: Path, git: Git, tmp_path: Path
) -> None:
    address = Address.parse(f"file://{repository}")
    assert address is not None
    Mirror(tmp_path / "mirror", address).update("main")
    left = [tmp_path / "mirror" / name for name in (
        "refs/heads/main.lock", "packed-refs.lock", "shallow.lock", "objects/pack/tmp_pack_x",
    )]  # fmt: skip
    for path in left:
        path.write_bytes(b"")
    (repository / "a.yaml").write_bytes(b"a: 2\n")
    git(repository, "commit", "-qam", "Change")
    newest = Mirror(tmp_path / "mirror", address).update("main").commit
    assert newest == git(repository, "rev-parse", "HEAD")
    assert not any(path.exists() for path in left)


def test_a_mirror_that_was_removed_is_made_again(repository: Path, tmp_path: Path) -> None:
    address = Address.parse(f"file://{repository}")
    assert address is not None
    mirror = Mirror(tmp_path / "mirror", address)
    first = mirror.update("main").commit
    (tmp_path / "mirror").rename(tmp_path / "away")
    assert mirror.update("main").commit == first
