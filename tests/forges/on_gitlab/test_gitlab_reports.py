"""Statuses, comments, deployments, releases and the webhook that the server writes to GitLab."""

from __future__ import annotations

import pytest

from bbops_server.forges.gitlab import GitLabForge
from bbops_server.forges.hosted import ForgeAway, ForgeForbidden, ForgeGone
from bbops_server.forges.values import Deployment, ForgeWebhook, NewRelease, StatusReport
from tests.support.github.connected import Run
from tests.support.github.facts import Comment, Hook
from tests.support.github.world import push
from tests.support.gitlab.connected import BOT, GitLabClient
from tests.support.gitlab.server import GitLabServer
from tests.support.gitlab.world import GitLabWorld

pytestmark = pytest.mark.long

MARKER = "<!-- bbops shop -->"
HOOK = "https://bbops.test/hooks/shop"


def test_check_is_a_status_of_its_commit(world: GitLabWorld, forge: GitLabForge, run: Run) -> None:
    report = StatusReport(world.main(), "bbops/check", "failure", "1 error", "https://b.test/1")
    known = run(forge.report(report))
    run(forge.report(StatusReport(world.main(), "bbops/check", "success", "x" * 300), known))
    assert [(each.state, each.description, each.url) for each in world.statuses] == [
        ("failure", "1 error", "https://b.test/1"), ("success", "x" * 255, ""),
    ]  # fmt: skip


def test_repeated_state_is_no_error(world: GitLabWorld, forge: GitLabForge, run: Run) -> None:
    report = StatusReport(world.main(), "bbops/check", "pending", "1")
    known = run(forge.report(report))
    assert run(forge.report(report, known)) == known


def test_head_of_a_fork_has_no_status(world: GitLabWorld, forge: GitLabForge, run: Run) -> None:
    fork = world.fork("mallory")
    head = push(fork, "topic", {"a.txt": "a"}, who="mallory")
    world.open_pull("mallory", "topic", home=fork)
    report = StatusReport(head, "bbops/check", "success", "")
    with pytest.raises(ForgeGone, match="References for commit"):
        run(forge.report(report))
    run(forge.list_open("main"))
    assert run(forge.report(report)) == ""


def test_own_comment_is_found_and_changed(world: GitLabWorld, forge: GitLabForge, run: Run) -> None:
    push(world.repo, "topic", {"a.txt": "a"})
    world.open_pull("bea", "topic")
    world.comments.append(Comment(1, 1, "mallory", f"{MARKER} fake"))
    assert run(forge.find_comment(1, MARKER)) == ""
    known = run(forge.comment(1, f"{MARKER} one\n/approve"))
    assert run(forge.find_comment(1, MARKER)) == known
    assert run(forge.comment(1, f"{MARKER} two\r  /merge", known)) == known
    assert [comment.body for comment in world.comments][1:] == [f"{MARKER} two\n  \\/merge"]
    with pytest.raises(ForgeGone):
        run(forge.comment(1, "three", "99"))


def test_deployment_sets_the_address_of_its_environment_once(
    world: GitLabWorld, gitlab: GitLabServer, forge: GitLabForge, run: Run
) -> None:
    first = Deployment("preview/7 (shop)", world.main(), is_active=True, url="https://a.test")
    run(forge.deploy(first))
    with gitlab.counted() as requests:
        known = run(forge.deploy(first))
    assert requests == ["POST /v4/projects/1001/deployments"]
    (environment,) = world.environments
    assert (environment.name, environment.url) == ("preview/7 shop", "https://a.test")
    assert run(forge.find_deployment("preview/7 (shop)", world.main())) == known
    ended = Deployment("preview/7 (shop)", world.main(), is_active=False)
    assert run(forge.deploy(ended, known)) == known
    assert environment.is_stopped
    run(forge.deploy(first))
    assert not environment.is_stopped


def test_unknown_deployment_is_not_ended(world: GitLabWorld, forge: GitLabForge, run: Run) -> None:
    ended = Deployment("preview/7", world.main(), is_active=False)
    assert run(forge.deploy(ended)) == ""
    with pytest.raises(ForgeGone):
        run(forge.deploy(ended, "99"))
    assert world.environments == []


def test_address_is_set_after_a_cut_response(
    world: GitLabWorld, gitlab: GitLabServer, forge: GitLabForge, run: Run
) -> None:
    active = Deployment("production", world.main(), is_active=True, url="https://a.test")
    gitlab.faults.add("PUT", "/environments/", status=502)
    with pytest.raises(ForgeAway):
        run(forge.deploy(active))
    known = run(forge.find_deployment("production", world.main()))
    assert run(forge.deploy(active, known)) == known
    assert (len(world.deployments), world.environments[0].url) == (1, "https://a.test")


def test_release_is_created_once(world: GitLabWorld, forge: GitLabForge, run: Run) -> None:
    for notes in ("First.", "Again."):
        run(forge.release(NewRelease("bbops/shop/v1", world.main(), "v1", notes)))
    assert [(found.tag, found.body) for found in world.releases] == [("bbops/shop/v1", "First.")]


def test_webhook_keeps_its_place_and_gets_the_new_secret(
    world: GitLabWorld, forge: GitLabForge, run: Run
) -> None:
    world.webhooks.hooks.append(Hook(1, "https://other.test/", "x", ["push"]))
    assert run(forge.find_webhook(HOOK)) is None
    for secret in ("one", "two"):
        run(forge.set_webhook(HOOK, secret))
    assert [(hook.url, hook.secret) for hook in world.webhooks.hooks] == [
        ("https://other.test/", "x"), (HOOK, "two"),
    ]  # fmt: skip
    assert run(forge.find_webhook(HOOK)) == ForgeWebhook(HOOK)


def test_webhook_needs_a_maintainer(world: GitLabWorld, forge: GitLabForge, run: Run) -> None:
    world.repo.roles[BOT] = "write"
    with pytest.raises(ForgeForbidden) as caught:
        run(forge.set_webhook(HOOK, "one"))
    assert "the role Maintainer" in caught.value.hint


def missing(run: Run, forge: GitLabForge) -> set[str]:
    return {right.name for right in run(forge.check_rights()) if not right.is_granted}


def test_trials_of_rights_change_nothing(
    world: GitLabWorld, client: GitLabClient, run: Run
) -> None:
    assert missing(run, client.open()) == set()
    assert missing(run, client.open(api="read")) == {"api"}
    world.repo.roles[BOT] = "read"
    assert missing(run, client.open()) == {"the role Developer"}
    assert (world.pulls, world.comments, world.statuses) == ([], [], [])


def test_invisible_project_has_no_right(gitlab: GitLabServer, forge: GitLabForge, run: Run) -> None:
    gitlab.faults.add("*", "/projects/", status=404, times=9)
    assert missing(run, forge) == {"api", "the role Developer"}


def test_rejected_token_is_an_error(world: GitLabWorld, forge: GitLabForge, run: Run) -> None:
    world.end_tokens()
    with pytest.raises(ForgeForbidden, match="401: 401 Unauthorized"):
        run(forge.check_rights())


def test_login_of_the_token_is_read_once(
    gitlab: GitLabServer, forge: GitLabForge, run: Run
) -> None:
    assert run(forge.bot_logins()) == run(forge.bot_logins()) == {BOT}
    assert gitlab.paths() == ["GET /v4/user"]
    assert run(forge.git_credential()).user == "bbops"
