"""`bbops contract export`: what it prints, where it writes, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from bbops.interfaces.cli._root_group import RootGroup
from tests.conftest import ROOT, TEMPLATE, sample

GOLDEN = ROOT / "tests/golden/contract"


def export(*arguments: object) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), ["contract", "export", *map(str, arguments)])


def test_it_prints_openapi_where_nothing_else_is_said() -> None:
    found = export(GOLDEN / "project")
    assert (found.exit_code, found.stdout) == (0, (GOLDEN / "expected.openapi.json").read_text())


def test_it_writes_a_file(tmp_path: Path) -> None:
    out = tmp_path / "api.md"
    found = export(GOLDEN / "project", "--format", "markdown", "--out", out)
    assert (found.exit_code, found.stdout) == (0, "")
    assert out.read_text() == (GOLDEN / "expected.md").read_text()


def test_a_file_where_nothing_can_be_written_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = export(GOLDEN / "project", "--out", tmp_path / "file/api.json")
    assert (found.exit_code, "file/api.json" in found.stderr) == (2, True), found.stderr


def test_it_says_where_the_project_answers_and_is_the_same_contract() -> None:
    found = json.loads(export(TEMPLATE, "--server", "https://api.example.com/").stdout)
    assert found["servers"] == [{"url": "https://api.example.com"}]
    assert found["info"] == json.loads(export(TEMPLATE).stdout)["info"]


def test_an_address_of_another_kind_is_refused() -> None:
    found = export(TEMPLATE, "--server", "ftp://example.com")
    assert found.exit_code == 2
    assert "'ftp://example.com' is not a valid URL" in found.stderr


def test_mistakes_are_told_instead_and_it_ends_with_1(tmp_path: Path) -> None:
    for path, text in sample(functions__double="steps: [ retrun: {} ]").items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = export(tmp_path)
    assert (found.exit_code, found.stdout) == (1, "")
    assert "functions/double.yaml:1" in found.stderr
