"""Tokens of a GitHub App: made, shared, renewed, and never shown."""

from __future__ import annotations

import asyncio
import logging

import pytest

from bbops_server.forges.github import GitHubForge
from bbops_server.forges.hosted import ForgeForbidden, ForgeGone
from tests.support.github.connected import KEY_ENV, Client, Run
from tests.support.github.server import GitHubServer
from tests.support.github.world import GitHubWorld

TOKENS = "POST /app/installations/77/access_tokens"


@pytest.fixture
def forge(client: Client) -> GitHubForge:
    return client.as_app()


def test_concurrent_requests_share_a_token(
    github: GitHubServer, forge: GitHubForge, run: Run
) -> None:
    async def ask() -> None:
        await asyncio.gather(*(forge.may_write(f"user{number}") for number in range(8)))

    run(ask())
    assert github.paths().count(TOKENS) == 1
    assert forge.requests == len(github.requests) == 10


def test_token_is_limited_to_the_repository(
    github: GitHubServer, forge: GitHubForge, run: Run
) -> None:
    run(forge.list_open("main"))
    (request,) = [each for each in github.requests if each.path.endswith("access_tokens")]
    assert request.body == {"repositories": ["shop"]}


def test_token_is_renewed_five_minutes_before_its_end(
    github: GitHubServer, forge: GitHubForge, client: Client, run: Run
) -> None:
    for seconds, count in ((0, 1), (54 * 60, 1), (2 * 60, 2)):
        client.clock.move(seconds)
        run(forge.list_open("main"))
        assert github.paths().count(TOKENS) == count


def test_revoked_token_is_renewed_at_once(
    world: GitHubWorld, github: GitHubServer, forge: GitHubForge, run: Run
) -> None:
    run(forge.list_open("main"))
    world.end_tokens()
    assert run(forge.list_open("main")) == []
    assert [request.status for request in github.requests].count(401) == 1


def test_app_knows_its_login_and_the_credential_for_git(forge: GitHubForge, run: Run) -> None:
    assert run(forge.bot_logins()) == {"bbops-acme[bot]"}
    credential = run(forge.git_credential())
    assert credential.user == "x-access-token"
    assert credential.password.startswith("ghs_")


def test_missing_installation_is_named(world: GitHubWorld, forge: GitHubForge, run: Run) -> None:
    assert world.app
    world.app.is_installed = False
    with pytest.raises(ForgeGone, match="the GitHub App is not installed for 'acme/shop'"):
        run(forge.list_open("main"))


def test_renamed_repository_keeps_its_installation(
    world: GitHubWorld, github: GitHubServer, forge: GitHubForge, run: Run
) -> None:
    world.rename("acme/store")
    assert run(forge.list_open("main")) == []
    (request,) = [each for each in github.requests if each.path.endswith("access_tokens")]
    assert request.body == {"repository_ids": [1001]}


@pytest.mark.parametrize("key", ["", "text", "-----BEGIN PRIVATE KEY-----\nAA==\n-----END-----"])
def test_invalid_key_is_an_error_without_its_text(
    forge: GitHubForge, client: Client, key: str, run: Run
) -> None:
    client.values[KEY_ENV] = key
    with pytest.raises(ForgeForbidden, match=KEY_ENV) as caught:
        run(forge.list_open("main"))
    assert not key or key not in str(caught.value)


def test_key_of_another_app_is_rejected(world: GitHubWorld, forge: GitHubForge, run: Run) -> None:
    assert world.app
    world.app.id += 1
    with pytest.raises(ForgeForbidden, match="401"):
        run(forge.list_open("main"))


def test_secrets_are_in_no_text(
    forge: GitHubForge, client: Client, caplog: pytest.LogCaptureFixture, run: Run
) -> None:
    caplog.set_level(logging.DEBUG)
    run(forge.list_open("main"))
    credential = run(forge.git_credential())
    assert forge.app
    shown = f"{forge!r} {forge.app!r} {vars(forge.app)!r} {credential!r} {caplog.text}"
    assert credential.password not in shown
    assert "PRIVATE KEY" not in shown
