"""The stand-in for GitLab matches the types of its responses, and the client uses all of it."""

from __future__ import annotations

from contextlib import suppress

import pytest

from bbops_server.forges.gitlab import GitLabForge
from bbops_server.forges.hosted import ForgeError
from bbops_server.forges.values import Deployment, NewPullRequest, NewRelease, StatusReport
from tests.support.github.connected import Run
from tests.support.github.facts import Rules
from tests.support.github.world import push
from tests.support.gitlab.connected import GitLabClient
from tests.support.gitlab.description import GitLabTypes, types
from tests.support.gitlab.routing import ROUTES
from tests.support.gitlab.server import GitLabServer
from tests.support.gitlab.world import GitLabWorld

__all__ = ["types"]

pytestmark = pytest.mark.long

WISH = NewPullRequest("topic", "main", "Add a", "Because.")
HOOK = "https://b.test/hooks/shop"


async def use(forge: GitLabForge, world: GitLabWorld) -> None:
    """Use each operation of a client."""
    push(world.repo, "topic", {"a.txt": "a"}, who="bea")
    pull = await forge.open(WISH)
    world.review(pull.number, "ada")
    world.review(pull.number, "cyd", "CHANGES_REQUESTED")
    for world.has_times in (False, True):
        await forge.list_reviews(pull.number)
    known = await forge.comment(pull.number, "<!-- x --> one")
    await forge.comment(pull.number, "<!-- x --> two", known)
    await forge.find_comment(pull.number, "<!-- x -->")
    await forge.report(StatusReport(pull.head, "bbops/check", "failure", "1 mistake"))
    world.run_job(pull.head, "test", "success")
    world.run_job(pull.head, "trigger deploy", "success")
    await forge.list_checks(pull.head)
    await forge.read_rules("main")
    await forge.find("topic", "main")
    await forge.list_open("main")
    await forge.list_authors(pull.number)
    for login in ("ada", "bea"):
        await forge.may_write(login)
    await forge.is_team_member("acme", "ada")
    active = Deployment("preview/1", pull.head, is_active=True, url="https://p.test")
    await forge.deploy(active)
    deployed = await forge.find_deployment("preview/1", pull.head)
    await forge.deploy(Deployment("preview/1", pull.head, is_active=False), deployed)
    commit = await forge.merge(pull.number, pull.head)
    await forge.find_merged(commit)
    for _ in range(2):
        await forge.release(NewRelease("v1", commit, "Version", "Notes"))
    push(world.repo, "other", {"b.txt": "b"})
    await forge.close((await forge.open(NewPullRequest("other", "main", "Add b", ""))).number)
    with suppress(ForgeError):
        await forge.get(9)
    await forge.check_rights()
    await forge.bot_logins()
    await forge.login_of("42")
    for secret in ("one", "two"):
        await forge.set_webhook(HOOK, secret)


def test_responses_have_the_types_of_gitlab(
    types: GitLabTypes, gitlab: GitLabServer, world: GitLabWorld, client: GitLabClient, run: Run
) -> None:
    world.repo.classic = Rules(1, [])
    world.teams["acme"] = {"ada"}
    world.accounts[42] = "ada"
    run(use(client.open(), world))
    schemas = {(route.method, route.template): route.schema for route in ROUTES}
    done = [request for request in gitlab.requests if request.status in {200, 201}]
    cases = [(schemas[each.method, each.template], each.value) for each in done]
    assert types.find_mistakes([case for case in cases if case[0]]) == []
    assert types.find_mistakes([("SimpleUserSchema", {"id": "1", "login": "ada"})])
    assert {(each.method, each.template) for each in done} == {*schemas}
