"""Reviews, rules and checks of Gitea."""

from __future__ import annotations

import pytest

from bbops_server.forges.gitea import GiteaForge
from bbops_server.forges.hosted import ForgeError, ForgeForbidden, ForgeGone
from bbops_server.forges.values import BranchRules
from tests.support.gitea.connected import BOT
from tests.support.gitea.server import GiteaServer
from tests.support.gitea.world import GiteaWorld
from tests.support.github.connected import Run
from tests.support.github.facts import Rules, Status
from tests.support.github.world import push
from tests.support.served import git


@pytest.fixture
def head(world: GiteaWorld) -> str:
    """The head of pull request 1."""
    push(world.repo, "topic", {"a.txt": "a"}, who="bea")
    return world.open_pull("bea", "topic").head


def test_official_verdicts_count_at_their_commit(
    world: GiteaWorld, gitea: GiteaServer, forge: GiteaForge, head: str, run: Run
) -> None:
    gitea.page_size = 2
    for who, state in (
        ("ada", "CHANGES_REQUESTED"), ("cyd", "APPROVED"), ("ada", "COMMENTED"),
        ("ada", "APPROVED"), ("dan", "PENDING"),
    ):  # fmt: skip
        world.review(1, who, state)
    found = [(review.who, review.verdict) for review in run(forge.list_reviews(1))]
    assert found == [
        ("ada", "refused"), ("cyd", "dismissed"), ("ada", "commented"), ("ada", "approved"),
    ]  # fmt: skip
    assert {review.head for review in run(forge.list_reviews(1))} == {head}


def test_approval_before_a_change_of_the_target_branch_is_doubted(
    world: GiteaWorld, forge: GiteaForge, head: str, run: Run
) -> None:
    push(world.repo, "dev", {"d.txt": "d"})
    world.review(1, "ada")
    assert [review.doubt for review in run(forge.list_reviews(1))] == [""]
    world.retarget(1, "dev")
    assert "before the target branch was changed" in run(forge.list_reviews(1))[0].doubt
    world.review(1, "ada")
    newest = run(forge.list_reviews(1))[-1]
    assert (newest.head, newest.doubt) == (head, "")


def test_dismissed_approval_is_dismissed(
    world: GiteaWorld, forge: GiteaForge, head: str, run: Run
) -> None:
    world.review(1, "ada")
    world.dismiss(1)
    assert [review.verdict for review in run(forge.list_reviews(1))] == ["dismissed"]


def test_authors_of_all_commits_are_listed(
    world: GiteaWorld, gitea: GiteaServer, forge: GiteaForge, head: str, run: Run
) -> None:
    gitea.page_size = 1
    push(world.repo, "topic", {"b.txt": "b"}, who="cyd")
    work = world.repo.path.with_suffix(".work")
    git(work, "commit", "-q", "--allow-empty", "-m", "x", "--author", "Eve <eve@elsewhere.test>")
    git(work, "push", "-q", "origin", "HEAD:refs/heads/topic")
    assert run(forge.list_authors(1)) == {"bea", "cyd", "ada"}  # ada committed for Eve


@pytest.mark.parametrize(
    ("checks", "expected"),
    [([], BranchRules(2)),
     (["test", "ci/*"], BranchRules(2, frozenset({"test"}), patterns=frozenset({"ci/*"}))),
     ([""], BranchRules(2, patterns=frozenset({"*"})))],
    ids=["no checks", "a pattern", "all checks"],
)  # fmt: skip
def test_protection_of_a_branch_is_read_with_patterns(
    world: GiteaWorld, forge: GiteaForge, checks: list[str], expected: BranchRules, run: Run
) -> None:
    world.repo.classic = Rules(2, checks)
    assert run(forge.read_rules("main")) == expected


def test_unprotected_and_missing_branches_have_no_rules(
    world: GiteaWorld, forge: GiteaForge, run: Run
) -> None:
    push(world.repo, "feature/a", {"a.txt": "a"})
    for branch in ("main", "feature/a", "none/b c"):
        assert run(forge.read_rules(branch)) == BranchRules()


def test_unsupported_pattern_is_refused(world: GiteaWorld, forge: GiteaForge, run: Run) -> None:
    world.repo.classic = Rules(0, ["ci/{a,b}"])
    with pytest.raises(ForgeError, match=r"require checks by 'ci/\{a,b\}', an unsupported pattern"):
        run(forge.read_rules("main"))


def test_newest_result_of_each_status_counts(
    world: GiteaWorld, gitea: GiteaServer, forge: GiteaForge, head: str, run: Run
) -> None:
    gitea.page_size = 2
    for context, state in (
        ("ci", "failure"), ("ci", "success"), ("lint", "skipped"), ("old", "error"),
        ("slow", "pending"), ("docs", "warning"),
    ):  # fmt: skip
        world.statuses.append(Status(world.new_id(), head, context, state, "ada"))
    assert run(forge.list_checks(head)) == {
        "ci": "success", "lint": "success", "old": "failure", "slow": "pending", "docs": "failure",
    }  # fmt: skip


def test_role_decides_about_writes(world: GiteaWorld, forge: GiteaForge, run: Run) -> None:
    assert [run(forge.may_write(who)) for who in ("ada", "bea", "cyd", "mallory")] == [
        True, True, False, False,
    ]  # fmt: skip
    world.repo.roles[BOT] = "write"
    with pytest.raises(ForgeForbidden) as caught:
        run(forge.may_write("bea"))
    assert caught.value.hint == "make the token's user an administrator of the repository"


def test_members_of_a_team_are_known_by_its_whole_name(
    world: GiteaWorld, forge: GiteaForge, run: Run
) -> None:
    world.teams.update({"acme/backend-2": {"bea"}, "acme/Backend": {"ada"}})
    assert run(forge.is_team_member("@acme/backend", "ada"))
    assert not run(forge.is_team_member("acme/backend", "bea"))
    assert not run(forge.is_team_member("acme/none", "ada"))


def test_login_is_found_by_the_id_of_sign_in(
    world: GiteaWorld, forge: GiteaForge, run: Run
) -> None:
    world.accounts.update({42: "ada", 43: "bea"})
    assert run(forge.login_of("43")) == "bea"
    for unknown in ("44", "0", "-1", "../43", ""):
        with pytest.raises(ForgeGone):
            run(forge.login_of(unknown))
