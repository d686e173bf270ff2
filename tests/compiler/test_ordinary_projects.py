"""Ordinary projects, written from the documentation alone: they validate and pass their tests.

A new project is a new folder under tests/golden/projects.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bbops.compiler.check import validate
from bbops.interfaces.cli._root_group import RootGroup
from bbops.source.tree import FolderTree
from tests.conftest import ROOT, TEMPLATE
from tests.support.shell import commands, console

ORDINARY = sorted(path.parent for path in (ROOT / "tests/golden/projects").glob("*/project.yaml"))
SHIPPED = [TEMPLATE, ROOT / "docs/example", *sorted((ROOT / "tests/samples").iterdir())]
TESTED = [folder for folder in ORDINARY if (folder / "tests").is_dir()]
MOST_WARNINGS = 2
_MADE = ("cat > ", "mkdir ", "echo ")


def bbops(*arguments: object) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), [*map(str, arguments)])


def check(folder: Path) -> None:
    """Fail on an error, or on more than two warnings."""
    project, diagnostics = validate(FolderTree(folder))
    shown = "\n".join(map(str, diagnostics))
    assert project is not None, shown
    assert [each for each in diagnostics if each.severity == "error"] == [], shown
    assert len(diagnostics) <= MOST_WARNINGS, shown


@pytest.mark.parametrize("folder", [*ORDINARY, *SHIPPED], ids=lambda path: path.name)
def test_a_project_validates_with_two_warnings_at_most(folder: Path) -> None:
    check(folder)


@pytest.mark.parametrize("folder", TESTED, ids=lambda path: path.name)
def test_a_project_passes_its_tests(folder: Path) -> None:
    result = bbops("test", "--path", folder)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("folder", ORDINARY, ids=lambda path: path.name)
def test_a_project_has_the_style_of_fmt(folder: Path) -> None:
    result = bbops("fmt", "--check", folder)
    assert result.exit_code == 0, result.output


def test_there_are_twenty_projects_and_most_have_tests() -> None:
    assert len(ORDINARY) >= 20
    assert len(TESTED) >= 8


@pytest.mark.parametrize("options", [[], ["--empty"]], ids=["accounts", "empty"])
def test_a_new_project_validates(options: list[str], tmp_path: Path) -> None:
    assert bbops("init", *options, tmp_path / "hello").exit_code == 0
    check(tmp_path / "hello")


def test_the_project_of_the_first_five_minutes_validates(tmp_path: Path) -> None:
    folder = tmp_path / "hello"
    assert bbops("init", folder).exit_code == 0
    for command in first_files():
        subprocess.run(["bash", "-ec", command], cwd=folder, check=True)
    check(folder)


def first_files() -> list[str]:
    """Return the commands of README.md that write files: an endpoint, a task, a trigger."""
    pages = console((ROOT / "README.md").read_text())
    typed = [command for block in pages for command, _ in commands(block)]
    # A line that reverts a mistake may make folders, too.
    typed = [line[line.find("mkdir ") :] if "&& mkdir " in line else line for line in typed]
    return [line for line in typed if line.startswith(_MADE)]


def test_the_first_five_minutes_write_six_files() -> None:
    assert [line.split(" > ")[1].split()[0] for line in first_files()] == [
        "endpoints/notes/count.yaml", "functions/notes/count.yaml", "tasks/tidy.yaml",
        "functions/notes/tidy.yaml", "triggers/welcome.yaml", "functions/welcome.yaml",
    ]  # fmt: skip
