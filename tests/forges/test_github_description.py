"""The stand-in for GitHub and its client match the OpenAPI description that GitHub publishes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import httpx
import pytest

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.forges.github import GitHubForge
from bbops_server.forges.hosted import ForgeError
from bbops_server.forges.values import Deployment, NewPullRequest, NewRelease, StatusReport
from tests.support.forge_world.api_server import GRAPHQL
from tests.support.github.connected import Client, Run
from tests.support.github.description import description, find_mistakes
from tests.support.github.facts import Rules
from tests.support.github.routing import ROUTES
from tests.support.github.server import GitHubServer
from tests.support.github.world import GitHubWorld, push

__all__ = ["description"]

pytestmark = pytest.mark.long

FINDING = JsonDiagnostic("error", "unknown-function", "a.yaml", 1, 1, "mistake", "fix it")


async def use(forge: GitHubForge, world: GitHubWorld, branch: str) -> None:
    """Use each operation of a client."""
    push(world.repo, branch, {f"{branch}.txt": "a"}, who="bea")
    pull = await forge.open(NewPullRequest(branch, "main", f"Add {branch}", "Because."))
    world.review(pull.number, "ada")
    world.retarget(pull.number, "main")
    for known in ("", "", "1"):
        with suppress(ForgeError):
            await forge.comment(pull.number, "<!-- x --> one", known)
    known = await forge.find_comment(pull.number, "<!-- x -->")
    await forge.comment(pull.number, "<!-- x --> two", known)
    for state in ("pending", "failure"):
        status = StatusReport(
            pull.head, "bbops/check", state, "1 mistake", "https://b.test", "text", (FINDING,)
        )
        known = await forge.report(status, known if state == "failure" else "")
    await forge.list_checks(pull.head)
    preview = Deployment(f"preview/{branch}", pull.head, is_active=True, url="https://p.test")
    known = await forge.deploy(preview)
    await forge.find_deployment(preview.environment, pull.head)
    await forge.deploy(Deployment(preview.environment, pull.head, is_active=False), known)
    await forge.read_rules("main")
    await forge.list_open("main")
    await forge.find(branch, "main")
    await forge.list_reviews(pull.number)
    await forge.list_authors(pull.number)
    await forge.find_merged(pull.head)
    await forge.find_merged("1" * 40)
    for login in ("ada", "mallory"):
        await forge.may_write(login)
        await forge.is_team_member("acme/backend", login)
    with suppress(ForgeError):
        await forge.merge(pull.number, "1" * 40)
    commit = await forge.merge(pull.number, pull.head)
    await forge.find_merged(commit)
    for _ in range(2):
        await forge.release(NewRelease(f"v-{branch}", commit, "Version", "Notes"))
    await forge.close(pull.number)
    await forge.check_rights()
    await forge.bot_logins()
    await forge.login_of("42")
    for secret in ("one", "two"):
        await forge.set_webhook("https://b.test/hooks/shop", secret)
    await forge.find_webhook("https://b.test/hooks/shop")


def test_requests_and_responses_match_the_description(
    description: dict[str, Any], github: GitHubServer, world: GitHubWorld, client: Client, run: Run
) -> None:
    world.repo.rules = Rules(1, [], needs_owners=True)
    world.repo.classic = Rules(0, ["bbops/check"])
    world.teams["acme/backend"] = {"ada"}
    world.accounts[42] = "ada"
    world.repo.classic.checks = []
    token, app = client.with_token(), client.as_app()
    run(use(token, world, "first"))
    run(use(app, world, "second"))
    run(token.list_open("main"))
    world.repo.rules.checks = ["bbops/check"]
    run(app.read_rules("main"))
    assert world.app
    world.manifests["code"] = (world.app, "private key")
    httpx.post(f"{github.url}/api/v3/app-manifests/code/conversions", timeout=60)
    mistakes, seen = set[str](), set[tuple[str, str]]()
    for request in github.requests:
        assert request.template, request.path
        operation = description["paths"][request.template][request.method.lower()]
        found = find_mistakes(operation, request.status, request.value, request.body, request.query)
        name = f"{request.method} {request.template} {request.status}"
        mistakes.update(f"{name}: {mistake}" for mistake in found)
        if request.status < 300:
            seen.add((request.method, request.template))
    assert sorted(mistakes) == []
    assert {route.template for route in ROUTES} >= {template for _, template in seen}
    unused = {(route.method, route.template) for route in ROUTES} - seen
    assert unused == {("POST", "/repos/{owner}/{repo}/git/refs"), ("POST", GRAPHQL)}
