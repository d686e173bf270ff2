"""Repositories made with the `git` command."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bbops.source.git.store import Store

Git = Callable[..., str]


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No identity and no settings of whoever runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def git() -> Git:
    def run(folder: Path, *arguments: str, given: str = "") -> str:
        identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        command = ["git", "-C", str(folder), *identity, "-c", "protocol.file.allow=always"]
        done = subprocess.run(
            [*command, *arguments], input=given, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    return run


@pytest.fixture
def repository(tmp_path: Path, git: Git) -> Path:
    """A work tree with `a.yaml` and `b/c.yaml` in one commit on main."""
    root = tmp_path / "repository"
    (root / "b").mkdir(parents=True)
    (root / "a.yaml").write_bytes(b"a: 1\n")
    (root / "b" / "c.yaml").write_bytes(b"c: 2\n\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "First words\n\nmore")
    return root


def head(store: Store, branch: str = "main") -> str:
    found = store.resolve(branch)
    assert found is not None
    return found
