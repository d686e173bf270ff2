"""Approvals, authors, rules and checks of GitLab."""

from __future__ import annotations

import pytest

from bbops_server.forges.gitlab import GitLabForge
from bbops_server.forges.hosted import ForgeForbidden, ForgeGone
from bbops_server.forges.values import BranchRules
from tests.support.github.connected import Run
from tests.support.github.facts import Comment, Rules, Status
from tests.support.github.world import push
from tests.support.gitlab.connected import BOT
from tests.support.gitlab.server import GitLabServer
from tests.support.gitlab.world import GitLabWorld
from tests.support.served import git

pytestmark = pytest.mark.long


@pytest.fixture
def head(world: GitLabWorld) -> str:
    """The head of merge request 1."""
    push(world.repo, "topic", {"a.txt": "a"}, who="bea")
    return world.open_pull("bea", "topic").head


@pytest.mark.parametrize("has_times", [True, False])
def test_approval_is_of_the_version_before_it(
    world: GitLabWorld, gitlab: GitLabServer, forge: GitLabForge, head: str, run: Run, *,
    has_times: bool,
) -> None:  # fmt: skip
    world.has_times, gitlab.page_size = has_times, 1
    world.review(1, "ada")
    push(world.repo, "topic", {"a.txt": "b"}, who="bea")
    world.sync()
    world.review(1, "cyd")
    world.review(1, "dan", "CHANGES_REQUESTED")
    new = world.find_pull(1).head
    found = [(review.who, review.verdict, review.head) for review in run(forge.list_reviews(1))]
    assert found == [("ada", "approved", head), ("cyd", "approved", new), ("dan", "refused", new)]
    world.review(1, "ada")
    assert {review.head for review in run(forge.list_reviews(1))} == {new}


def test_revoked_approval_is_gone(
    world: GitLabWorld, forge: GitLabForge, head: str, run: Run
) -> None:
    assert head
    world.review(1, "ada")
    world.dismiss(1)
    assert run(forge.list_reviews(1)) == []


def test_authors_of_all_commits_are_listed(
    world: GitLabWorld, forge: GitLabForge, head: str, run: Run
) -> None:
    assert head
    push(world.repo, "topic", {"b.txt": "b"}, who="cyd")
    work = world.repo.path.with_suffix(".work")
    git(work, "commit", "-q", "--allow-empty", "-m", "x", "--author", "Eve <eve@elsewhere.test>")
    git(work, "push", "-q", "origin", "HEAD:refs/heads/topic")
    assert run(forge.list_authors(1)) == {"bea", "cyd", "ada"}  # ada committed for Eve


def test_users_who_pushed_are_authors_whatever_address_their_commits_have(
    world: GitLabWorld, forge: GitLabForge, head: str, run: Run
) -> None:
    assert head
    world.pusher = "mallory"
    push(world.repo, "topic", {"b.txt": "b"}, who="cyd")
    world.sync()
    world.comments.append(Comment(world.new_id(), 1, "dan", "added 1 commit"))
    assert run(forge.list_authors(1)) == {"bea", "cyd", "mallory"}


def test_rules_are_those_of_the_project_and_the_branch(
    world: GitLabWorld, forge: GitLabForge, run: Run
) -> None:
    assert run(forge.read_rules("main")) == BranchRules()
    world.repo.classic = Rules(2, ["any"], needs_owners=True)
    expected = BranchRules(2, needs_owners=True, patterns=frozenset({"*"}))
    assert run(forge.read_rules("main")) == expected
    assert not run(forge.read_rules("other")).needs_owners


def test_free_tier_has_no_approval_rules_and_a_missing_role_is_an_error(
    world: GitLabWorld, forge: GitLabForge, run: Run
) -> None:
    world.repo.classic = Rules(2)
    world.is_paid = False
    assert run(forge.read_rules("main")) == BranchRules()
    world.is_paid, world.repo.roles[BOT] = True, "read"
    with pytest.raises(ForgeForbidden) as caught:
        run(forge.read_rules("main"))
    assert "the role Developer or Maintainer" in caught.value.hint


def test_newest_result_of_each_job_counts(
    world: GitLabWorld, gitlab: GitLabServer, forge: GitLabForge, head: str, run: Run
) -> None:
    gitlab.page_size = 2
    for name, state in (
        ("ci", "failure"), ("ci", "success"), ("lint", "skipped"), ("old", "canceled"),
        ("slow", "running"), ("optional docs", "failure"), ("new", "manual"),
    ):  # fmt: skip
        world.run_job(head, name, state)
    assert run(forge.list_checks(head)) == {
        "ci": "success", "lint": "success", "old": "failure", "slow": "pending",
        "optional docs": "success", "new": "pending",
    }  # fmt: skip


def post(world: GitLabWorld, head: str, name: str, state: str, who: str) -> None:
    world.statuses.append(Status(world.new_id(), head, name, state, who))


def test_status_of_a_developer_does_not_replace_a_job(
    world: GitLabWorld, forge: GitLabForge, head: str, run: Run
) -> None:
    for name in ("test", "trigger deploy"):
        world.run_job(head, name, "failure")
        post(world, head, name, "success", "bea")
    assert run(forge.list_checks(head)) == {"test": "failure", "trigger deploy": "failure"}
    for name in ("test", "trigger deploy"):
        world.run_job(head, name, "success")
    assert run(forge.list_checks(head)) == {"test": "success", "trigger deploy": "success"}


def test_status_of_a_developer_is_not_a_success(
    world: GitLabWorld, forge: GitLabForge, head: str, run: Run
) -> None:
    post(world, head, "anything", "success", "bea")
    assert run(forge.list_checks(head)) == {}
    post(world, head, "jenkins", "failure", "cyd")
    post(world, head, "jenkins", "success", "bea")
    assert run(forge.list_checks(head)) == {"jenkins": "failure"}
    post(world, head, "jenkins", "success", "cyd")
    assert run(forge.list_checks(head)) == {}


def test_status_of_the_server_counts_beside_a_job_of_its_name(
    world: GitLabWorld, forge: GitLabForge, head: str, run: Run
) -> None:
    post(world, head, "bbops/check", "failure", BOT)
    post(world, head, "bbops/check", "success", "bea")
    world.run_job(head, "bbops/check", "success", "bea")
    assert run(forge.list_checks(head)) == {"bbops/check": "failure"}
    post(world, head, "bbops/check", "success", BOT)
    assert run(forge.list_checks(head)) == {"bbops/check": "success"}


def test_developers_and_higher_may_write(world: GitLabWorld, forge: GitLabForge, run: Run) -> None:
    assert [run(forge.may_write(who)) for who in ("ada", "Bea", "cyd", "mallory")] == [
        True, True, False, False,
    ]  # fmt: skip


def test_members_of_groups_are_known_by_the_whole_path(
    world: GitLabWorld, forge: GitLabForge, run: Run
) -> None:
    world.teams.update({"acme": {"ada"}, "acme/backend": {"bea"}})
    assert run(forge.is_team_member("acme", "ada"))
    assert run(forge.is_team_member("@acme/backend", "bea"))
    assert not run(forge.is_team_member("acme", "bea"))
    assert not run(forge.is_team_member("acme/none", "ada"))


def test_group_without_access_to_the_project_owns_nothing(
    world: GitLabWorld, forge: GitLabForge, run: Run
) -> None:
    world.teams["Former"] = {"bea"}
    assert not run(forge.is_team_member("former", "bea"))
    world.invited.add("Former")
    assert run(forge.is_team_member("former", "bea"))


def test_login_is_found_by_the_id_of_sign_in(
    world: GitLabWorld, forge: GitLabForge, run: Run
) -> None:
    world.accounts.update({42: "ada", 43: "bea"})
    assert run(forge.login_of("43")) == "bea"
    for unknown in ("44", "0", "-1", "../43", ""):
        with pytest.raises(ForgeGone):
            run(forge.login_of(unknown))
