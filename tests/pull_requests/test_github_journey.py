"""A pull request from its first mistake to its release, on each forge, by HTTP and git only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.on_github import APP, BROKEN, OnGitea, OnGitHub, OnGitLab
from tests.support.patience import wait_for
from tests.support.small_project import hello


@pytest.fixture(params=[
    OnGitHub, *(pytest.param(forge, marks=pytest.mark.long) for forge in (OnGitea, OnGitLab)),
])  # fmt: skip
def shop(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[OnGitHub]:
    """A server whose project is on a forge."""
    server: OnGitHub = request.param(tmp_path)
    yield server
    server.stop()


def test_from_a_mistake_to_a_release_and_back(shop: OnGitHub) -> None:
    pull = shop.propose("greeting", BROKEN)
    shop.until_checked(pull, "failure", "failure")
    (comment,) = wait_for(lambda: shop.comments(pull))
    assert "functions/hello.yaml" in comment
    assert not shop.deployed("preview/1")

    shop.push("greeting", hello(2))
    shop.until_checked(pull, "success", "success")
    shop.until_previewed(pull)
    assert len(shop.comments(pull)) == 1

    shop.world.review(1, "bob")
    shop.world.merge(1, "bob")
    shop.until_live(2)
    shop.until_ended(pull)
    shop.until_in_production(pull.merge_commit)
    wait_for(lambda: [found.tag for found in shop.world.releases][-1:] == ["bbops/shop/v2"])

    back = shop.propose("back", hello(1))
    shop.until_checked(back, "success", "success")
    shop.world.merge(2, "bob", "squash")
    shop.until_live(1)
    shop.until_in_production(back.merge_commit)


@pytest.mark.long
def test_an_app_annotates_the_mistake_at_its_line(tmp_path: Path) -> None:
    shop = OnGitHub(tmp_path, credential=APP)
    try:
        pull = shop.propose("greeting", BROKEN)
        runs = wait_for(lambda: {
            run.name: run for run in shop.world.runs if run.commit == pull.head and run.conclusion
        })  # fmt: skip
        check = wait_for(lambda: runs.get("bbops/check"))
        assert check.conclusion == "failure"
        (found,) = [
            note for note in check.annotations if note["annotation_level"] == "failure"
        ]  # fmt: skip
        assert (found["path"], found["start_line"]) == ("functions/hello.yaml", 2)
        assert wait_for(lambda: shop.world.comments)[0].who == "bbops-acme[bot]"
        shop.push("greeting", hello(2))
        shop.world.merge(1, "bob")
        shop.until_live(2)
        wait_for(lambda: shop.deployed("production").get(pull.merge_commit) == "success")
    finally:
        shop.stop()
