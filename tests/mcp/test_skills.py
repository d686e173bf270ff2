"""The skills that agents are given: valid, the same in every project, and true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import skills_ref

from bbops.interfaces.cli._root_group import added_commands, own_commands
from bbops.interfaces.mcp.skills import FOLDER, read_skills
from bbops.interfaces.mcp.tool import find_tools
from bbops_server.mcp.servers import PROJECT, PUBLIC
from tests.conftest import ROOT

pytestmark = pytest.mark.quick

NAMES = ["evaluator", "frontend-handoff", "getting-started", "mcp-handoff", "safety"]


def test_the_skills_are_those_of_the_specification() -> None:
    assert sorted(read_skills()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_is_as_the_format_has_it(name: str) -> None:
    assert skills_ref.validate(FOLDER / name) == []


def test_a_new_project_has_the_same_skills() -> None:
    copies = ROOT / "project-template/.agents/skills"
    assert texts(copies) == texts(FOLDER)


def texts(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_names_only_commands_that_there_are(name: str) -> None:
    text = read_skills()[name].text
    named = set(re.findall(r"(?:`|^    |&& )bbops ([a-z]+)", text, re.MULTILINE))
    assert named <= {*own_commands(), *added_commands()}


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_names_only_tools_that_there_are(name: str) -> None:
    named = set(re.findall(r"`([a-z]+_[a-z_]+)`", read_skills()[name].text))
    known = find_tools(PUBLIC).keys() | find_tools(PROJECT).keys()
    assert named - {"insufficient_scope"} <= known
