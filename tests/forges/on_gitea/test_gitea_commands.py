"""`bbops forge` for Gitea and Forgejo: a token is connected, and its rights are shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.forge_operator import HOOK, Operator
from tests.support.gitea.connected import BOT, open_gitea
from tests.support.gitea.server import GiteaServer

LINE = "forge: {{ kind: {}, tokenEnv: SHOP_FORGE_TOKEN, webhookSecretEnv: SHOP_WEBHOOK_SECRET }}"


@pytest.fixture(params=["gitea", pytest.param("forgejo", marks=pytest.mark.long)])
def gitea(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[GiteaServer]:
    """A stand-in of each kind."""
    with open_gitea(tmp_path, request.param) as server:
        yield server


@pytest.fixture
def operator(tmp_path: Path, gitea: GiteaServer) -> Operator:
    return Operator(tmp_path, gitea)


def test_token_is_connected_with_its_webhook_and_has_a_status(
    operator: Operator, gitea: GiteaServer
) -> None:
    world, line = gitea.world, LINE.format(gitea.world.kind)
    token = world.add_token(BOT)
    words = ("connect", "shop", "--kind", world.kind, "--json")
    done = operator.run(*words, given=token)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["settings"]) == (0, line)
    assert answer["webhook"] == {"address": HOOK, "created": True}
    assert token not in done.stdout + done.stderr
    assert [hook.secret for hook in world.webhooks.hooks] == [
        operator.stored("SHOP_WEBHOOK_SECRET")
    ]
    operator.write(line)
    status = operator.run("status").stdout
    assert f"shop: {world.kind} {gitea.url}/acme/shop\n" in status
    assert "ok       write:issue: comments pull requests" in status
    assert f"  webhook  {HOOK}\n" in status
    assert "  open     0 pull requests" in status


def test_app_is_refused(operator: Operator, gitea: GiteaServer) -> None:
    done = operator.run("connect", "shop", "--kind", gitea.world.kind, "--app")
    assert done.returncode == 2
    assert f"'{gitea.world.kind}' has no Apps" in done.stderr
