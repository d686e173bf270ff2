"""`review.source: forge`: only what the forge's users have approved goes live."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.github.world import push
from tests.support.on_github import REVIEWED, OnGitea, OnGitHub, OnGitLab
from tests.support.patience import wait_for
from tests.support.small_project import hello


@pytest.fixture(params=[
    OnGitHub, *(pytest.param(forge, marks=pytest.mark.long) for forge in (OnGitea, OnGitLab)),
])  # fmt: skip
def shop(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[OnGitHub]:
    """A server whose live project demands a review on its forge."""
    server: OnGitHub = request.param(tmp_path, files=REVIEWED)
    yield server
    server.stop()


@pytest.mark.parametrize("method", [
    "merge", *(pytest.param(way, marks=pytest.mark.long) for way in ("squash", "rebase"))
])  # fmt: skip
def test_an_approved_pull_request_goes_live_by_each_way_to_merge(
    shop: OnGitHub, method: str
) -> None:
    pull = shop.propose("two", hello(2))
    shop.until_checked(pull, "success", "success")
    shop.world.review(pull.number, "bob")
    shop.world.merge(pull.number, "ada", method)
    shop.until_live(2)


@pytest.mark.long
@pytest.mark.parametrize("shop", [OnGitHub, OnGitea], indirect=True)
def test_rebase_of_several_commits_goes_live(shop: OnGitHub) -> None:
    pull = shop.propose("two", hello(5))
    shop.push("two", hello(2))
    first = shop.propose("one", {"README.md": "one\n"})
    for number in (first.number, pull.number):
        shop.world.review(number, "bob")
        shop.world.merge(number, "ada", "rebase")
    shop.until_live(2)


def test_a_push_past_the_rules_is_held(shop: OnGitHub) -> None:
    shop.push("main", hello(2))
    shop.until_held("ReviewMissing")


@pytest.mark.long
def test_a_head_that_changed_after_its_approval_is_held_until_it_is_approved(
    shop: OnGitHub,
) -> None:
    pull = shop.propose("two", hello(5))
    shop.world.review(pull.number, "bob")
    shop.push("two", hello(2))
    shop.world.merge(pull.number, "ada")
    shop.until_held("ReviewMissing")
    shop.world.review(pull.number, "bob")
    shop.until_live(2)


def test_the_approval_of_a_stranger_does_not_count(shop: OnGitHub) -> None:
    pull = shop.propose("two", hello(2))
    shop.world.repo.roles["mallory"] = "read"
    shop.world.review(pull.number, "mallory")
    shop.world.merge(pull.number, "ada")
    shop.until_held("ReviewMissing")


@pytest.mark.long
def test_an_outage_of_the_forge_holds_and_then_goes_on(shop: OnGitHub) -> None:
    pull = shop.propose("two", hello(2))
    shop.until_checked(pull, "success", "success")
    shop.world.review(pull.number, "bob")
    fault = shop.forge.faults.add("GET", "/commits/", status=503, times=1_000)
    shop.world.merge(pull.number, "ada")
    wait_for(lambda: fault.times < 1_000)
    shop.until_held("Forge")
    shop.forge.faults.clear()
    shop.push("other", hello(9))  # its webhook ends the pause
    shop.until_live(2)


@pytest.mark.long
def test_approval_before_a_change_of_the_target_branch_does_not_count(shop: OnGitHub) -> None:
    world = shop.world
    shop.push("dev", hello(2))  # no review
    push(world.repo, "two", {"README.md": "two\n"}, start="dev")
    pull = world.open_pull("ada", "two", target="dev")
    world.review(pull.number, "bob")
    world.retarget(pull.number, "main")
    world.merge(pull.number, "ada")
    shop.until_held("1 more approval needed")
    world.review(pull.number, "bob")
    shop.until_live(2)
