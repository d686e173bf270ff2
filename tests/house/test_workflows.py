"""The workflows and actions on forges, of this repository and of new projects; pinned versions."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import ROOT

TEMPLATE = ROOT / "project-template"
WORKFLOWS = sorted(
    file for folder in (ROOT, TEMPLATE) for file in (folder / ".github/workflows").iterdir()
)
ACTIONS = sorted((ROOT / ".github/actions").glob("*/action.yml"))

INSTALLS = [
    ROOT / ".github/actions/install.sh", TEMPLATE / ".github/workflows/bbops.yml",
]  # fmt: skip


def program(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program of this environment."""
    path = Path(sys.executable).with_name(name)
    return subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_pins_every_action_to_a_commit(file: Path) -> None:
    used = re.findall(r"uses:\s*(\S+)", file.read_text())
    assert used
    assert [name for name in used if not re.search(r"@[0-9a-f]{40}$", name)] == []


@pytest.mark.parametrize("file", INSTALLS, ids=lambda file: file.name)
def test_python_imports_no_modules_of_the_checkout(file: Path) -> None:
    """With `-m` or `-c`, Python imports from the current folder first, unless `-I` is given."""
    started = re.findall(r"python3?\"? (-\S+)", file.read_text())
    assert started
    assert {*started} == {"-I"}


@pytest.mark.parametrize("file", ACTIONS, ids=lambda file: file.parent.name)
def test_an_action_uses_no_other_action(file: Path) -> None:
    assert "uses:" not in file.read_text()


@pytest.mark.parametrize("file", [*WORKFLOWS, *ACTIONS], ids=lambda file: file.name)
def test_no_workflow_runs_with_the_rights_of_the_base_for_a_fork(file: Path) -> None:
    assert "pull_request_target" not in file.read_text()


@pytest.mark.parametrize("file", [*WORKFLOWS, *ACTIONS], ids=lambda file: file.name)
def test_a_shell_command_takes_its_inputs_from_the_environment(file: Path) -> None:
    commands = re.findall(r"run: (?:\|\n((?:(?: {6,}.*)?\n)+)|(.*))", file.read_text())
    assert commands
    assert [text for pair in commands for text in pair if "${{ inputs" in text] == []


def test_zizmor_finds_nothing() -> None:
    found = program(
        "zizmor", "--offline", "--no-progress", "--color=never", "--persona=pedantic",
        ROOT / ".github", TEMPLATE / ".github",
    )  # fmt: skip
    assert (found.returncode, found.stdout.strip()) == (0, "No findings to report. Good job!")


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        (["vendor.github-workflows"], WORKFLOWS),
        (["vendor.github-actions"], ACTIONS),
        (["vendor.gitlab-ci", "--data-transform", "gitlab-ci"], [TEMPLATE / ".gitlab-ci.yml"]),
    ],
    ids=["workflows", "actions", "gitlab"],
)  # fmt: skip
def test_the_files_follow_the_schema_of_their_forge(schema: list[str], files: list[Path]) -> None:
    found = program("check-jsonschema", "--builtin-schema", *schema, *files)
    assert (found.returncode, found.stdout.strip()) == (0, "ok -- validation done")


def test_a_package_is_constrained_to_one_version() -> None:
    names = re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    twice = [name for name, times in Counter(map(str.lower, names)).items() if times > 1]
    assert twice == []
