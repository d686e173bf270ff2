"""`bbops forge` for GitLab: a token is connected, and its rights are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.forge_operator import HOOK, Operator
from tests.support.gitlab.connected import BOT
from tests.support.gitlab.server import GitLabServer

pytestmark = pytest.mark.long

LINE = "forge: { kind: gitlab, tokenEnv: SHOP_FORGE_TOKEN, webhookSecretEnv: SHOP_WEBHOOK_SECRET }"


@pytest.fixture
def operator(tmp_path: Path, gitlab: GitLabServer) -> Operator:
    return Operator(tmp_path, gitlab)


def test_token_is_connected_with_its_webhook_and_has_a_status(
    operator: Operator, gitlab: GitLabServer
) -> None:
    world = gitlab.world
    token = world.add_token(BOT)
    done = operator.run("connect", "shop", "--kind", "gitlab", "--json", given=token)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["settings"]) == (0, LINE)
    assert answer["webhook"] == {"address": HOOK, "created": True}
    assert token not in done.stdout + done.stderr
    secrets = [hook.secret for hook in world.webhooks.hooks]
    assert secrets == [operator.stored("SHOP_WEBHOOK_SECRET")]
    operator.write(LINE)
    status = operator.run("status").stdout
    assert f"shop: gitlab {gitlab.url}/acme/backend/shop\n" in status
    assert "ok       the role Developer: pushes drafts" in status
    assert f"  webhook  {HOOK}\n" in status
    assert "  open     0 pull requests, 19" in status
    assert json.loads(operator.run("secret", "shop", "--json").stdout)["address"] == HOOK


def test_developer_adds_the_webhook_by_hand(operator: Operator, gitlab: GitLabServer) -> None:
    gitlab.world.repo.roles[BOT] = "write"
    token = gitlab.world.add_token(BOT, {"api": "read"})
    done = operator.run("connect", "shop", "--kind", "gitlab", given=token)
    assert done.returncode == 1
    assert "missing  api: reads merge requests" in done.stdout
    assert f"    address  {HOOK}" in done.stdout
    assert "the triggers for push, tag push and merge request events:" in done.stdout
