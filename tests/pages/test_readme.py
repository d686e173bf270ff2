"""README.md is executed: every console block runs, and prints what it shows.

With the marker `install` somebody types it word for word, and the tutorial after it, into new
terminals beside a fresh copy: nothing is installed, no home, no path.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.newcomer import Newcomer
from tests.support.shell import commands, console, try_console

README = (ROOT / "README.md").read_text()
TUTORIAL = (ROOT / "docs/tutorial.md").read_text()
BLOCKS = console(README)
SETUP = [block for block in BLOCKS if "pip install" in block]
TOUR = [block for block in BLOCKS if "pip install" not in block]


@pytest.mark.long
def test_every_block_of_the_tour_prints_what_it_shows(tmp_path: Path) -> None:
    """Here `bbops` is on the path already, and `source` finds nothing; see the test below."""
    try_console(TOUR, tmp_path, tidy=str)


def test_the_set_up_is_two_commands() -> None:
    assert [len(list(commands(block))) for block in SETUP] == [1, 1]


def copy_of_the_repository(to: Path) -> Path:
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for file in filter(None, files):
        if (ROOT / file).is_file():
            (to / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, to / file)
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=to, check=True)
    subprocess.run(["git", "add", "-A"], cwd=to, check=True)
    return to


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_the_repository(tmp_path_factory.mktemp("newcomer") / "bbops")


@pytest.mark.install
def test_a_newcomer_types_what_the_readme_says(checkout: Path) -> None:
    """Of the set-up of the tests nothing is typed: it would run them in themselves."""
    with Newcomer(checkout, checkout.parent / "home") as newcomer:
        newcomer.follow(README.replace(SETUP[1], ""))


@pytest.mark.install
def test_then_they_type_what_the_tutorial_says(checkout: Path) -> None:
    with Newcomer(checkout, checkout.parent / "home") as newcomer:
        newcomer.follow(TUTORIAL)


@pytest.mark.install
def test_the_demo_tells_its_story(checkout: Path) -> None:
    once = checkout / ".venv/bin/bbops"
    told = subprocess.run([once, "demo", "--once"], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "did you mean 'name'?" in told.stdout
