"""The stand-in for Gitea and its client match the descriptions that both forges publish."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from bbops_server.forges.gitea import GiteaForge
from bbops_server.forges.hosted import ForgeError
from bbops_server.forges.values import NewPullRequest, NewRelease, StatusReport
from tests.support.gitea.connected import GiteaClient
from tests.support.gitea.descriptions import GiteaModels, find_mistakes, forgejo, gitea_models
from tests.support.gitea.routing import ROUTES
from tests.support.gitea.server import GiteaServer
from tests.support.gitea.world import GiteaWorld
from tests.support.github.connected import Run
from tests.support.github.facts import Rules
from tests.support.github.world import push

__all__ = ["forgejo", "gitea_models"]

pytestmark = pytest.mark.long

WISH = NewPullRequest("topic", "main", "Add a", "Because.")
HOOK = "https://b.test/hooks/shop"


async def use(forge: GiteaForge, world: GiteaWorld) -> None:
    """Use each operation of a client."""
    push(world.repo, "topic", {"a.txt": "a"}, who="bea")
    pull = await forge.open(WISH)
    with suppress(ForgeError):
        await forge.open(WISH)
    world.review(pull.number, "ada")
    world.retarget(pull.number, "main")
    known = await forge.comment(pull.number, "<!-- x --> one")
    await forge.comment(pull.number, "<!-- x --> two", known)
    await forge.find_comment(pull.number, "<!-- x -->")
    await forge.report(StatusReport(pull.head, "bbops/check", "failure", "1 mistake"))
    await forge.list_checks(pull.head)
    await forge.read_rules("main")
    await forge.find("topic", "main")
    await forge.list_reviews(pull.number)
    await forge.list_authors(pull.number)
    for login in ("ada", "mallory"):
        await forge.may_write(login)
        await forge.is_team_member("acme/backend", login)
    with suppress(ForgeError):
        await forge.merge(pull.number, "1" * 40)
    commit = await forge.merge(pull.number, pull.head)
    await forge.find_merged(commit)
    for _ in range(2):
        await forge.release(NewRelease("v1", commit, "Version", "Notes"))
    with suppress(ForgeError):
        await forge.close(pull.number)
    push(world.repo, "other", {"b.txt": "b"})
    await forge.close((await forge.open(NewPullRequest("other", "main", "Add b", ""))).number)
    await forge.check_rights()
    await forge.bot_logins()
    await forge.login_of("42")
    for secret in ("one", "two"):
        await forge.set_webhook(HOOK, secret)


def test_requests_and_responses_match_both_descriptions(
    forgejo: dict[str, Any], gitea_models: GiteaModels, gitea: GiteaServer, world: GiteaWorld,
    client: GiteaClient, run: Run,
) -> None:  # fmt: skip
    world.repo.classic = Rules(1, [])
    world.teams["acme/backend"] = {"ada"}
    world.accounts[42] = "ada"
    run(use(client.open(), world))
    mistakes, seen = set[str](), set[tuple[str, str]]()
    for request in gitea.requests:
        assert request.template, request.path
        operation = forgejo["paths"][request.template][request.method.lower()]
        found = list(find_mistakes(forgejo, operation, request))
        if request.status < 300:
            found += gitea_models.find_mistakes(operation["operationId"], request.value)
            seen.add((request.method, request.template))
        name = f"{request.method} {request.template} {request.status}"
        mistakes.update(f"{name}: {mistake}" for mistake in found)
    assert sorted(mistakes) == []
    assert {(route.method, route.template) for route in ROUTES} == seen
