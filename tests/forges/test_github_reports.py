"""Checks, comments, deployments and releases that the server writes to GitHub."""

from __future__ import annotations

import pytest

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.forges.github import GitHubForge
from bbops_server.forges.hosted import ForgeConflict, ForgeGone
from bbops_server.forges.values import Deployment, NewRelease, StatusReport
from tests.support.github.connected import Client, Run
from tests.support.github.facts import Comment
from tests.support.github.server import GitHubServer
from tests.support.github.world import GitHubWorld, push
from tests.support.served import git

MARKER = "<!-- bbops shop -->"
FINDINGS = tuple(
    JsonDiagnostic("error", "unknown-function", "functions/a.yaml", line, 3, f"mistake {line}")
    for line in range(1, 61)
)


@pytest.fixture
def head(world: GitHubWorld) -> str:
    """The head of pull request 1."""
    push(world.repo, "topic", {"a.txt": "a"}, who="bea")
    return world.open_pull("bea", "topic").head


def test_app_reports_a_check_run_with_annotations(
    world: GitHubWorld, client: Client, head: str, run: Run
) -> None:
    forge = client.as_app()
    assert "annotations" in forge.capabilities
    known = run(forge.report(StatusReport(head, "bbops/check", "pending", "checking")))
    hinted = JsonDiagnostic("warning", "unused", "a.yaml", 2, 0, "unused", "remove it")
    status = StatusReport(
        head, "bbops/check", "failure", "2 mistakes", "https://bbops.test/1", "| a |",
        (FINDINGS[0], hinted),
    )  # fmt: skip
    run(forge.report(status, known))
    (result,) = world.runs
    assert (result.status, result.conclusion) == ("completed", "failure")
    assert result.output == {"title": "2 mistakes", "summary": "2 mistakes", "text": "| a |"}
    assert result.url == "https://bbops.test/1"
    assert result.annotations == [
        {"path": "functions/a.yaml", "start_line": 1, "end_line": 1, "start_column": 3,
         "end_column": 3, "annotation_level": "failure", "title": "unknown-function",
         "message": "mistake 1"},
        {"path": "a.yaml", "start_line": 2, "end_line": 2, "annotation_level": "warning",
         "title": "unused", "message": "unused\nhint: remove it"},
    ]  # fmt: skip


def test_annotations_above_the_limit_are_counted_in_the_summary(
    world: GitHubWorld, client: Client, head: str, run: Run
) -> None:
    status = StatusReport(head, "bbops/check", "failure", "60 mistakes", findings=FINDINGS)
    run(client.as_app().report(status))
    assert len(world.runs[0].annotations) == 50
    summary = world.runs[0].output["summary"]
    assert summary == "60 mistakes\n\n10 more without an annotation."


def test_changed_result_gets_a_new_run_without_old_annotations(
    world: GitHubWorld, client: Client, head: str, run: Run
) -> None:
    forge = client.as_app()
    status = StatusReport(head, "bbops/check", "failure", "1 mistake", findings=FINDINGS[:1])
    known = run(forge.report(status))
    run(forge.report(StatusReport(head, "bbops/check", "success", "no mistakes"), known))
    assert [len(result.annotations) for result in world.runs] == [1, 0]
    assert run(forge.list_checks(head)) == {"bbops/check": "success"}


def test_token_reports_a_status(world: GitHubWorld, client: Client, head: str, run: Run) -> None:
    forge = client.with_token()
    assert "annotations" not in forge.capabilities
    status = StatusReport(head, "bbops/check", "failure", "x" * 200, "https://bbops.test/1")
    run(forge.report(status))
    (result,) = world.statuses
    assert (result.state, result.context, result.url) == (
        "failure", "bbops/check", "https://bbops.test/1",
    )  # fmt: skip
    assert result.description == "x" * 139 + "…"


def test_report_for_an_unknown_commit_is_a_conflict(forge: GitHubForge, run: Run) -> None:
    with pytest.raises(ForgeConflict, match="No commit found"):
        run(forge.report(StatusReport("1" * 40, "bbops/check", "success", "ok")))


def test_own_comment_is_found_and_changed(
    world: GitHubWorld, forge: GitHubForge, head: str, run: Run
) -> None:
    world.comments.append(Comment(world.new_id(), 1, "mallory", f"{MARKER} mine"))
    assert run(forge.find_comment(1, MARKER)) == ""
    known = run(forge.comment(1, f"{MARKER} one"))
    assert run(forge.find_comment(1, MARKER)) == known
    assert run(forge.comment(1, f"{MARKER} two", known)) == known
    assert [comment.body for comment in world.comments] == [f"{MARKER} mine", f"{MARKER} two"]


def test_deleted_comment_is_gone(
    world: GitHubWorld, forge: GitHubForge, head: str, run: Run
) -> None:
    known = run(forge.comment(1, MARKER))
    world.comments.clear()
    with pytest.raises(ForgeGone):
        run(forge.comment(1, MARKER, known))


def test_preview_is_no_production_deployment_and_ends(
    world: GitHubWorld, forge: GitHubForge, head: str, run: Run
) -> None:
    preview = Deployment("preview/1", head, is_active=True, url="https://p1.bbops.test")
    known = run(forge.deploy(preview))
    assert run(forge.find_deployment("preview/1", head)) == known
    run(forge.deploy(Deployment("preview/1", head, is_active=False), known))
    (deployment,) = world.deployments
    assert (deployment.is_transient, deployment.is_production) == (False, False)
    assert deployment.states == [
        {"state": "success", "environment_url": "https://p1.bbops.test"}, {"state": "inactive"},
    ]  # fmt: skip


def test_production_is_deployed_in_spite_of_missing_checks(
    world: GitHubWorld, forge: GitHubForge, github: GitHubServer, run: Run
) -> None:
    commit = git(world.repo.path, "rev-parse", "main")
    run(forge.deploy(Deployment("production", commit, is_active=True, is_production=True)))
    assert world.deployments[0].is_production
    body = next(
        request.body for request in github.requests if request.path.endswith("/deployments")
    )
    assert (body["required_contexts"], body["auto_merge"]) == ([], False)


def test_deployment_of_another_user_is_not_found(
    world: GitHubWorld, client: Client, forge: GitHubForge, head: str, run: Run
) -> None:
    client.values["SHOP_FORGE_TOKEN"] = world.add_token("mallory")
    run(client.with_token().deploy(Deployment("preview/1", head, is_active=True)))
    client.values["SHOP_FORGE_TOKEN"] = world.add_token()
    assert run(forge.find_deployment("preview/1", head)) == ""


def test_end_of_an_unknown_deployment_sends_nothing(
    github: GitHubServer, client: Client, run: Run
) -> None:
    assert run(client.with_token().deploy(Deployment("preview/1", "1" * 40, is_active=False))) == ""
    assert github.requests == []


def test_release_is_created_once(world: GitHubWorld, forge: GitHubForge, run: Run) -> None:
    commit = git(world.repo.path, "rev-parse", "main")
    for _ in range(2):
        run(forge.release(NewRelease("v1", commit, "Version 1", "First.")))
    assert [(each.tag, each.commit, each.body) for each in world.releases] == [
        ("v1", commit, "First.")
    ]


def test_invalid_release_is_a_conflict(github: GitHubServer, forge: GitHubForge, run: Run) -> None:
    github.faults.add("POST", "/releases", status=422, value={"message": "Validation Failed"})
    with pytest.raises(ForgeConflict, match="Validation Failed"):
        run(forge.release(NewRelease("v1", "1" * 40, "Version 1", "")))
