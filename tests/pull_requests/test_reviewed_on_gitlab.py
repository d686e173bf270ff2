"""`review.source: forge` on GitLab: rebased branches, sections of CODEOWNERS, pipelines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.github.facts import Rules, Status
from tests.support.on_github import REVIEWED, OnGitLab
from tests.support.small_project import hello

pytestmark = pytest.mark.long

OWNERS = "* @bob\n\n[Code][2] @acme\n/functions/\n\n^[Style] @mallory\n*\n"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[OnGitLab]:
    """A server whose live project has owners, and demands a review on GitLab."""
    server = OnGitLab(tmp_path, files={**REVIEWED, ".gitlab/CODEOWNERS": OWNERS})
    server.world.repo.roles.update({"eve": "write", "mallory": "write"})
    yield server
    server.stop()


def test_branch_that_gitlab_rebases_is_approved_again(shop: OnGitLab) -> None:
    pull = shop.propose("two", hello(5))
    shop.push("two", hello(2))
    first = shop.propose("one", {"README.md": "one\n"})
    for number in (first.number, pull.number):
        shop.world.review(number, "bob")
    shop.world.merge(first.number, "ada", "rebase")
    shop.world.rebase(pull.number)
    shop.world.merge(pull.number, "ada", "rebase")
    shop.until_held("ReviewMissing")
    shop.world.review(pull.number, "bob")
    shop.until_live(2)


def test_section_demands_approvals_of_its_group(shop: OnGitLab) -> None:
    shop.world.repo.classic = Rules(needs_owners=True)
    shop.world.teams["acme"] = {"bob", "eve"}
    pull = shop.propose("two", hello(2), who="mallory")
    shop.world.review(pull.number, "bob")
    shop.world.merge(pull.number, "mallory")
    shop.until_held("needs the approval of an owner: acme (2 approvals)")
    shop.world.review(pull.number, "eve")
    shop.until_live(2)


def test_all_checks_of_the_head_succeed_if_pipelines_must(shop: OnGitLab) -> None:
    world = shop.world
    pull = shop.propose("two", hello(2))
    shop.until_checked(pull, "success", "success")
    world.run_job(pull.head, "test", "failure")
    world.review(pull.number, "bob")
    with world.lock:  # an administrator merges without the rule
        world.merge(pull.number, "ada")
        world.repo.classic = Rules(0, ["pipelines"])
    shop.until_held("check 'test' has failed")
    world.statuses.append(Status(world.new_id(), pull.head, "test", "success", "mallory"))
    shop.nudge()
    shop.until_held("check 'test' has failed")
    world.run_job(pull.head, "test", "success")
    shop.nudge()
    shop.until_live(2)


def test_approval_without_a_time_counts_by_its_event(shop: OnGitLab) -> None:
    shop.world.has_times = False
    pull = shop.propose("two", hello(5))
    shop.world.review(pull.number, "bob")
    shop.push("two", hello(2))
    shop.world.merge(pull.number, "ada")
    shop.until_held("the approval of bob was of ")
    shop.world.review(pull.number, "bob")
    shop.until_live(2)
