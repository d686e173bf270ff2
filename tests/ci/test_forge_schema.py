"""The stand-in for GitHub's comments matches the OpenAPI description that GitHub publishes."""

from __future__ import annotations

from typing import Any

import pytest

from bbops.interfaces.ci.comments import open_api, upsert_comment
from bbops.interfaces.ci.run import CiRun
from tests.support.forge_api import TOKEN, ForgeApi, ForgeRequest, github_api
from tests.support.github.description import description, find_mistakes

__all__ = ["description", "github_api"]

pytestmark = pytest.mark.long

PATHS = {
    "/repos/ada/shop/issues/12/comments": "/repos/{owner}/{repo}/issues/{issue_number}/comments",
    "/repos/ada/shop/issues/comments": "/repos/{owner}/{repo}/issues/comments/{comment_id}",
    "/user": "/user",
}


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
        query = [pair.partition("=")[0] for pair in request.query.split("&") if pair]
        described = operation(description, request)
        assert list(find_mistakes(described, status, value, request.body, query)) == []
        seen.add((request.method, status))
    assert seen == {("GET", 200), ("GET", 403), ("POST", 201), ("PATCH", 200)}
