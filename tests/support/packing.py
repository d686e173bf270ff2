"""A repository to build wheels from, and the files that belong into them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.conftest import ROOT

PLACES = {
    "bbops/": "bbops/",
    "server/bbops_server/": "bbops_server/",
}
ARCHIVES = {
    "docs/": "bbops/_assets/docs.tar.bz2",
    "project-template/": "bbops/_assets/project-template.tar.bz2",
    "server/bbops_server/control_plane/pages/": "bbops_server/control_plane/pages.tar.bz2",
}
LEFT_OUT = ("docs/decisions/", "docs/example/", "docs/upcoming/", "docs/style.md", "docs/bench.md")
"""Pages that only a checkout has."""
JUNK = (
    "bbops/scratch.py",  # untracked
    "bbops/__pycache__/x.pyc",  # ignored
    "docs/notes.md",
    "project-template/.env",  # ignored by the template's own .gitignore
    "project-template/.bbops/state/data.sqlite",
    "project-template/tables/draft.yaml",
)


def git(folder: Path, *arguments: str) -> list[str]:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.split("\0")[:-1]


def put(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("junk")


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    if not (ROOT / ".git").exists():
        pytest.fail("not a checkout: the wheel is compared with what git knows")
    return [name for name in git(ROOT, "ls-files", "-z") if (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def copy(tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that tracks the same files, with junk in it that it does not track."""
    folder = tmp_path_factory.mktemp("copy") / "with space"
    for name in tracked:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    put(folder, (name for name in ("README.md", "LICENSE") if name not in tracked))
    git(folder, "init", "-q")
    git(folder, "add", "--all", "--force", ".")
    put(folder, JUNK)
    return folder


def packed(tracked: Iterable[str]) -> set[str]:
    """Return the files of a wheel."""
    return {*ARCHIVES.values()} | {
        target + name.removeprefix(folder)
        for name in tracked
        for folder, target in PLACES.items()
        if name.startswith(folder) and not is_archived(name)
    }


def is_archived(name: str) -> bool:
    """Return whether a file of the repository is in an archive of the wheel."""
    is_served = name.startswith("server/") and name.endswith((".css", ".svg"))
    return name.startswith(tuple(ARCHIVES)) and not name.startswith(LEFT_OUT) and not is_served
