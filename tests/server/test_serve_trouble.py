"""`bbops serve` on a machine in trouble: it says what is wrong, and keeps serving."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.processes import children
from tests.support.served import LIST, PAGE, Served, environment, git
from tests.support.served_sample import repository

__all__ = ["repository"]

pytestmark = pytest.mark.long


def change(served: Served) -> str:
    served.edit(LIST, PAGE, f"{PAGE}\n        more: 1")
    return served.commit()


def pids(served: Served) -> list[int]:
    """Return the server and its processes."""
    return [served.process.pid, *children(served.process.pid)]


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let nobody write a folder; root is stopped by nothing less than a mount."""
    if os.geteuid() != 0:
        folder.chmod(0o500)
        yield
        folder.chmod(0o700)
        return
    if subprocess.run(["mount", "--bind", folder, folder], check=False).returncode:
        pytest.skip("cannot mount here")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_state_folder_that_is_read_only_is_named_and_may_be_mended(
    repository: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    with Served(repository, tmp_path / "home", "--state", str(state)) as served:
        good = served.live()["release"]
        with read_only(state / "artifacts" if os.geteuid() else state):
            commit = change(served)
            stalled = served.stalled()
            assert str(state) in stalled["message"]
            assert {"read-only file system", "permission denied"} & set(
                stalled["message"].split(": ")
            )
            assert stalled["hint"]
            assert served.condition("Stalled")["status"] is True
            assert served.api.get("/api/me").headers["x-release"] == good
        served.control.post("/api/projects/sample/reconcile")
        assert served.live_of(commit)


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs Linux")
def test_a_full_disk_is_named_and_may_be_mended(repository: Path, tmp_path: Path) -> None:
    with Served(repository, tmp_path / "home") as served:
        good = served.live()["release"]
        limits = [resource.prlimit(pid, resource.RLIMIT_FSIZE) for pid in pids(served)]
        for pid, (_, hard) in zip(pids(served), limits, strict=True):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
        commit = change(served)
        stalled = served.stalled()
        assert "file too large" in stalled["message"]
        assert "free space" in stalled["hint"]
        assert served.api.get("/api/me").headers["x-release"] == good
        for pid, limit in zip(pids(served), limits, strict=True):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limit)
        served.control.post("/api/projects/sample/reconcile")
        assert served.live_of(commit)


def test_what_is_live_but_cannot_be_remembered_is_named(repository: Path, tmp_path: Path) -> None:
    with Served(repository, tmp_path / "home") as served:
        served.live()
        record = repository / ".bbops/state/publication.json"
        record.unlink()
        record.mkdir()
        commit = change(served)
        assert served.live_of(commit)
        assert served.stalled()["reason"] == "StateNotWritable"
        assert served.status()["applied_revision"] == f"main@sha1:{commit}"
        assert served.api.get("/api/me").headers["x-release"] == commit[:12]


@pytest.fixture
def hanging(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Put a git first in PATH that hangs when told so; return that environment."""
    real, switch = shutil.which("git"), tmp_path / "hang"
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(f'#!/bin/sh\n[ -e {switch} ] && sleep 600\nexec {real} "$@"\n')
    (folder / "git").chmod(0o755)

    def hang(shall: str) -> dict[str, str]:
        switch.touch() if shall == "yes" else switch.unlink(missing_ok=True)
        return {"PATH": f"{folder}:{os.environ['PATH']}"}

    return hang


@pytest.mark.long
def test_a_git_that_hangs_is_named_and_may_be_mended(
    repository: Path, tmp_path: Path, hanging: Callable[[str], dict[str, str]]
) -> None:
    with Served(repository, tmp_path / "home", env=hanging("no")) as served:
        good = served.live()["release"]
        hanging("yes")
        commit = change(served)
        stalled = served.event("stalled", 60)
        assert stalled["reason"] == "GitFailed"
        assert "did not finish within" in stalled["message"]
        assert served.api.get("/api/me").headers["x-release"] == good
        hanging("no")
        assert served.event("live", 60)["release"] == commit[:12]


def test_a_server_whose_git_hangs_ends_at_once_with_all_of_it(
    repository: Path, tmp_path: Path, hanging: Callable[[str], dict[str, str]]
) -> None:
    with Served(repository, tmp_path / "home", env=hanging("no")) as served:
        served.live()
        build = pids(served)
        hanging("yes")
        change(served)
        found = wait_for(lambda: [pid for pid in build for pid in gits(pid)])
        assert served.stop() == 0
        assert not [pid for pid in found if Path(f"/proc/{pid}").exists()]


def gits(pid: int) -> list[int]:
    told = subprocess.run(
        ["pgrep", "-P", str(pid), "-x", "git"], capture_output=True, text=True, check=False
    )
    return [int(pid) for pid in told.stdout.split()]


@pytest.mark.long
def test_a_git_that_hangs_from_the_start_is_said(
    repository: Path, tmp_path: Path, hanging: Callable[[str], dict[str, str]]
) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "bbops", "serve", str(repository)], timeout=60, text=True,
        env=environment(tmp_path) | hanging("yes"), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "git version did not finish within 20 seconds" in done.stderr


def test_what_a_commit_says_cannot_reach_the_terminal(repository: Path, tmp_path: Path) -> None:
    git(repository, "commit", "-q", "--allow-empty", "-m", "\x1b[2Jgone")
    log = tmp_path / "out"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "bbops", "serve", str(repository), "--port", "0",
             "--control-port", "0"], stdout=out, env=environment(tmp_path),
        )  # fmt: skip
        try:
            wait_for(lambda: "gone" in log.read_text())
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)
    assert "\\x1b[2Jgone" in log.read_text()
