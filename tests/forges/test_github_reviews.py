"""Reviews, rules and checks of GitHub, by which the server decides about a merge."""

from __future__ import annotations

import pytest

from bbops_server.forges.github import GitHubForge
from bbops_server.forges.hosted import ForgeError, ForgeForbidden, ForgeGone
from bbops_server.forges.on_github import reviews
from bbops_server.forges.values import BranchRules
from tests.support.github.connected import Client, Run
from tests.support.github.facts import Rules, Status
from tests.support.github.facts import Run as CheckRun
from tests.support.github.server import GitHubServer
from tests.support.github.world import GitHubWorld, push
from tests.support.served import git


@pytest.fixture
def head(world: GitHubWorld) -> str:
    """The head of pull request 1, by bea."""
    push(world.repo, "topic", {"a.txt": "a"}, who="bea")
    return world.open_pull("bea", "topic").head


def test_reviews_have_their_verdict_and_head(
    world: GitHubWorld, forge: GitHubForge, head: str, run: Run
) -> None:
    for who, state in (("cyd", "COMMENTED"), ("ada", "CHANGES_REQUESTED"), ("ada", "APPROVED")):
        world.review(1, who, state)
    found = [(review.who, review.verdict, review.head) for review in run(forge.list_reviews(1))]
    assert found == [
        ("cyd", "commented", head),
        ("ada", "refused", head),
        ("ada", "approved", head),
    ]


def test_approval_keeps_the_head_that_it_was_given_for(
    world: GitHubWorld, forge: GitHubForge, head: str, run: Run
) -> None:
    world.review(1, "ada")
    after = push(world.repo, "topic", {"b.txt": "b"}, who="bea")
    assert run(forge.get(1)).head == after
    assert [review.head for review in run(forge.list_reviews(1))] == [head]


def test_approval_before_a_change_of_the_target_branch_is_doubted(
    world: GitHubWorld, forge: GitHubForge, head: str, run: Run
) -> None:
    push(world.repo, "dev", {"d.txt": "d"})
    world.review(1, "ada")
    assert [review.doubt for review in run(forge.list_reviews(1))] == [""]
    world.retarget(1, "dev")
    assert "before the target branch was changed" in run(forge.list_reviews(1))[0].doubt
    world.review(1, "ada")
    newest = run(forge.list_reviews(1))[-1]
    assert (newest.head, newest.doubt) == (head, "")


def test_stale_approval_is_dismissed_by_a_rule(
    world: GitHubWorld, forge: GitHubForge, head: str, run: Run
) -> None:
    world.repo.rules.dismisses_stale = True
    world.review(1, "ada")
    push(world.repo, "topic", {"b.txt": "b"}, who="bea")
    assert [review.verdict for review in run(forge.list_reviews(1))] == ["dismissed"]


def test_authors_of_all_commits_are_listed(
    world: GitHubWorld, forge: GitHubForge, head: str, run: Run
) -> None:
    push(world.repo, "topic", {"b.txt": "b"}, who="cyd")
    work = world.repo.path.with_suffix(".work")
    git(work, "commit", "-q", "--allow-empty", "-m", "x", "--author", "Eve <eve@elsewhere.test>")
    git(work, "push", "-q", "origin", "HEAD:refs/heads/topic")
    assert run(forge.list_authors(1)) == {"bea", "cyd", "ada"}  # ada committed for Eve


def test_pull_request_with_unlisted_commits_is_an_error(
    forge: GitHubForge, head: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reviews, "MAX_COMMITS", 1)
    with pytest.raises(ForgeError, match="GitHub lists only the first of them"):
        run(forge.list_authors(1))


def test_rules_of_rulesets_and_protection_are_joined(
    world: GitHubWorld, forge: GitHubForge, run: Run
) -> None:
    world.repo.rules = Rules(1, ["bbops/check"], needs_owners=True)
    world.repo.classic = Rules(2, ["lint"])
    rules = run(forge.read_rules("main"))
    assert rules == BranchRules(2, frozenset({"bbops/check", "lint"}), needs_owners=True)


def test_branch_without_rules_has_none(forge: GitHubForge, run: Run) -> None:
    assert run(forge.read_rules("main")) == BranchRules()
    assert run(forge.read_rules("feature/a b")) == BranchRules()


def test_required_checks_are_readable_without_administration(
    world: GitHubWorld, github: GitHubServer, client: Client, run: Run
) -> None:
    world.repo.classic = Rules(2, ["lint"])
    forge = client.with_token(contents="read")
    assert run(forge.read_rules("main")) == BranchRules(0, frozenset({"lint"}))
    run(forge.read_rules("main"))
    asked = [request for request in github.requests if request.path.endswith("/protection")]
    assert len(asked) == 1


def test_owner_without_rulesets_has_no_rules(
    github: GitHubServer, forge: GitHubForge, run: Run
) -> None:
    value = {"message": "Upgrade to GitHub Pro or make this repository public."}
    github.faults.add("GET", "/rules/", status=403, value=value)
    assert run(forge.read_rules("main")) == BranchRules()


def test_unreadable_rules_are_an_error(github: GitHubServer, forge: GitHubForge, run: Run) -> None:
    github.faults.add("GET", "/rules/", status=403, value={"message": "no"})
    with pytest.raises(ForgeForbidden):
        run(forge.read_rules("main"))


def test_newest_result_of_each_check_counts(
    world: GitHubWorld, forge: GitHubForge, head: str, run: Run
) -> None:
    conclusions: dict[str, list[str | None]] = {
        "test": ["failure", "success"], "lint": ["neutral"], "docs": ["skipped"],
        "build": ["cancelled"], "deploy": [None],
    }  # fmt: skip
    for name, results in conclusions.items():
        for result in results:
            status = "completed" if result else "in_progress"
            world.runs.append(CheckRun(world.new_id(), head, name, status, result))
    for context, state in (("ci", "failure"), ("ci", "success"), ("old", "error")):
        world.statuses.append(Status(world.new_id(), head, context, state, "ada"))
    assert run(forge.list_checks(head)) == {
        "test": "success", "lint": "success", "docs": "success", "build": "failure",
        "deploy": "pending", "ci": "success", "old": "failure",
    }  # fmt: skip


def test_status_does_not_hide_a_failed_check_of_its_name(
    world: GitHubWorld, forge: GitHubForge, head: str, run: Run
) -> None:
    world.runs.append(CheckRun(world.new_id(), head, "test", "completed", "failure"))
    world.statuses.append(Status(world.new_id(), head, "test", "success", "mallory"))
    assert run(forge.list_checks(head)) == {"test": "failure"}


@pytest.mark.parametrize(
    ("role", "may"),
    [("admin", True), ("maintain", True), ("write", True), ("triage", False), ("read", False)],
)
def test_role_decides_about_writes(
    world: GitHubWorld, forge: GitHubForge, role: str, *, may: bool, run: Run
) -> None:
    world.repo.roles["dan"] = role
    assert run(forge.may_write("dan")) == may


def test_stranger_may_not_write(github: GitHubServer, forge: GitHubForge, run: Run) -> None:
    assert not run(forge.may_write("mallory"))
    github.faults.add("GET", "/collaborators/", status=404)
    assert not run(forge.may_write("../../admin"))


def test_members_of_a_team_are_known(world: GitHubWorld, forge: GitHubForge, run: Run) -> None:
    world.teams["acme/backend"] = {"bea"}
    assert run(forge.is_team_member("@acme/backend", "bea"))
    assert not run(forge.is_team_member("acme/backend", "ada"))
    assert not run(forge.is_team_member("acme/none", "bea"))


def test_login_is_found_by_the_id_of_sign_in(
    world: GitHubWorld, forge: GitHubForge, run: Run
) -> None:
    world.accounts[42] = "ada"
    assert run(forge.login_of("42")) == "ada"
    for unknown in ("43", "../42"):
        with pytest.raises(ForgeGone):
            run(forge.login_of(unknown))


def test_teams_need_a_right(client: Client, run: Run) -> None:
    forge = client.with_token(contents="read")
    with pytest.raises(ForgeForbidden) as caught:
        run(forge.is_team_member("acme/backend", "bea"))
    assert caught.value.hint == "the credential needs the right 'members: read'"
