"""Complete projects: what people write validates whole, is in order, and passes its own tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bbops.compiler.compile.release import validate
from bbops.interfaces.cli._root_group import RootGroup
from bbops.source.tree import FolderTree
from tests.conftest import ROOT, TEMPLATE

SAMPLES = sorted(path.parent for path in (ROOT / "tests/samples").glob("*/project.yaml"))
PROJECTS = [*SAMPLES, TEMPLATE]


def run(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(RootGroup("bbops"), [*map(str, arguments)])
    return found.exit_code, found.output


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_a_sample_has_no_mistakes_and_no_warnings(project: Path) -> None:
    _, diagnostics = validate(FolderTree(project))
    assert [str(one) for one in diagnostics] == []


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_a_sample_is_formatted(project: Path) -> None:
    assert run("fmt", "--check", project)[0] == 0


@pytest.mark.long
@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_a_sample_passes_its_own_tests(project: Path) -> None:
    code, told = run("test", "--path", project)
    assert code == 0, told
    assert " passed in " in told


def test_there_are_samples() -> None:
    assert [sample.name for sample in SAMPLES] == ["blog", "saas"]
