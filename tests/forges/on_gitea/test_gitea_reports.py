"""Statuses, comments, releases and the webhook that the server writes to Gitea."""

from __future__ import annotations

import pytest

from bbops_server.forges.gitea import GiteaForge
from bbops_server.forges.hosted import ForgeAway, ForgeError, ForgeForbidden, ForgeGone
from bbops_server.forges.values import Deployment, ForgeWebhook, NewRelease, StatusReport
from tests.support.gitea.connected import BOT, GiteaClient
from tests.support.gitea.server import GiteaServer
from tests.support.gitea.world import SCOPES, GiteaWorld
from tests.support.github.connected import Run
from tests.support.github.facts import Comment, Hook
from tests.support.github.world import push

MARKER = "<!-- bbops shop -->"
HOOK = "https://bbops.test/hooks/shop"


def test_check_is_a_status_of_its_commit(world: GiteaWorld, forge: GiteaForge, run: Run) -> None:
    report = StatusReport(world.main(), "bbops/check", "failure", "1 error", "https://b.test/1")
    known = run(forge.report(report))
    run(forge.report(StatusReport(world.main(), "bbops/check", "success", "no problems"), known))
    assert [(each.state, each.description, each.url) for each in world.statuses] == [
        ("failure", "1 error", "https://b.test/1"), ("success", "no problems", ""),
    ]  # fmt: skip


def test_status_of_a_missing_commit_is_tried_later(forge: GiteaForge, run: Run) -> None:
    with pytest.raises(ForgeAway, match="answered with 500"):
        run(forge.report(StatusReport("1" * 40, "bbops/check", "success", "")))


def test_own_comment_is_found_and_changed(world: GiteaWorld, forge: GiteaForge, run: Run) -> None:
    push(world.repo, "topic", {"a.txt": "a"})
    world.open_pull("bea", "topic")
    world.comments.append(Comment(1, 1, "mallory", f"{MARKER} fake"))
    assert run(forge.find_comment(1, MARKER)) == ""
    known = run(forge.comment(1, f"{MARKER} one"))
    assert run(forge.find_comment(1, MARKER)) == known
    assert run(forge.comment(1, f"{MARKER} two", known)) == known
    assert [comment.body for comment in world.comments][1:] == [f"{MARKER} two"]
    with pytest.raises(ForgeGone):
        run(forge.comment(1, "three", "99"))


def test_release_is_created_once(world: GiteaWorld, forge: GiteaForge, run: Run) -> None:
    for notes in ("First.", "Again."):
        run(forge.release(NewRelease("bbops/shop/v1", world.main(), "v1", notes)))
    assert [(found.tag, found.body) for found in world.releases] == [("bbops/shop/v1", "First.")]


def test_deployments_are_refused(forge: GiteaForge, run: Run) -> None:
    assert forge.capabilities == {"releases", "teams"}
    with pytest.raises(ForgeError, match="'gitea' has no deployments"):
        run(forge.deploy(Deployment("preview/1", "1" * 40, is_active=True)))


def test_webhook_is_replaced_with_its_secret(
    world: GiteaWorld, gitea: GiteaServer, forge: GiteaForge, run: Run
) -> None:
    world.webhooks.hooks.append(Hook(1, "https://other.test/", "x", ["push"]))
    assert run(forge.find_webhook(HOOK)) is None
    for secret in ("one", "two"):
        run(forge.set_webhook(HOOK, secret))
    assert [(hook.url, hook.secret) for hook in world.webhooks.hooks] == [
        ("https://other.test/", "x"), (HOOK, "two"),
    ]  # fmt: skip
    assert run(forge.find_webhook(HOOK)) == ForgeWebhook(HOOK)


def test_webhook_needs_an_administrator(world: GiteaWorld, forge: GiteaForge, run: Run) -> None:
    world.repo.roles[BOT] = "write"
    with pytest.raises(ForgeForbidden):
        run(forge.set_webhook(HOOK, "one"))


def missing(run: Run, forge: GiteaForge) -> set[str]:
    return {right.name for right in run(forge.check_rights()) if not right.is_granted}


@pytest.mark.parametrize(
    ("scope", "right"),
    [("user", "read:user"), ("issue", "write:issue")],
)
def test_missing_scope_is_listed(client: GiteaClient, scope: str, right: str, run: Run) -> None:
    scopes = {name: level for name, level in SCOPES.items() if name != scope}
    assert missing(run, client.open(**scopes)) == {right}


def test_trials_of_rights_change_nothing(world: GiteaWorld, client: GiteaClient, run: Run) -> None:
    assert missing(run, client.open()) == set()
    assert missing(run, client.open(**{**SCOPES, "repository": "read"})) == {"write:repository"}
    world.repo.roles[BOT] = "read"
    assert missing(run, client.open()) == {"write access to the repository"}
    assert (world.pulls, world.comments, world.statuses) == ([], [], [])


def test_invisible_repository_has_no_right(gitea: GiteaServer, forge: GiteaForge, run: Run) -> None:
    gitea.faults.add("*", "/repos/", status=404, times=9)
    assert missing(run, forge) == {
        "write:repository", "write access to the repository", "write:issue",
    }  # fmt: skip


def test_rejected_token_is_an_error(world: GiteaWorld, forge: GiteaForge, run: Run) -> None:
    world.end_tokens()
    with pytest.raises(ForgeForbidden, match="401: invalid username"):
        run(forge.check_rights())


def test_login_of_the_token_is_read_once(gitea: GiteaServer, forge: GiteaForge, run: Run) -> None:
    assert run(forge.bot_logins()) == run(forge.bot_logins()) == {BOT}
    assert gitea.paths() == ["GET /user"]
    assert run(forge.git_credential()).user == "bbops"
