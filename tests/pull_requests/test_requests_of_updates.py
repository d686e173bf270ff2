"""The number of requests to the forge: six for an update, none while nothing changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.github.facts import Pull
from tests.support.on_github import OnGitHub, OnGitLab
from tests.support.patience import wait_for
from tests.support.small_project import hello

MOST = 6


@pytest.fixture(params=[OnGitHub, pytest.param(OnGitLab, marks=pytest.mark.long)])
def shop(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[OnGitHub]:
    """A server whose project is on a forge, and which polls its branches all the time."""
    server: OnGitHub = request.param(tmp_path, poll_seconds="0.2")
    wait_for(lambda: server.world.releases and server.forge.paths()[-1].endswith("/releases"))
    yield server
    server.stop()


def test_an_update_takes_six_requests_and_silence_none(shop: OnGitHub) -> None:
    with shop.forge.counted() as opened:
        pull = shop.propose("greeting", hello(2))
        wait_for(lambda: is_deployed(shop, pull))
    assert len(opened) <= MOST, opened

    with shop.forge.counted() as silent:
        before = shop.world.fetches
        wait_for(lambda: shop.world.fetches >= before + 6)
    assert silent == []

    with shop.forge.counted() as updated:
        shop.push("greeting", hello(3))
        wait_for(lambda: is_deployed(shop, pull))
    assert len(updated) <= MOST, updated
    assert len(shop.comments(pull)) == 1


@pytest.mark.long
def test_a_branch_without_a_pull_request_costs_nothing(shop: OnGitHub) -> None:
    with shop.forge.counted() as silent:
        shop.push("greeting", hello(2))
        before = shop.world.fetches
        wait_for(lambda: shop.world.fetches >= before + 6)
    assert silent == []


@pytest.mark.long
def test_a_missing_right_costs_its_own_request_alone(shop: OnGitHub) -> None:
    shop.forge.faults.add("POST", "/deployments|/releases", status=403, times=1_000)
    own = shop.propose("greeting", hello(2))
    fork = shop.propose("patch", hello(3), home=shop.world.fork("mallory"), who="mallory")
    for pull in (own, fork):
        if shop.shows_statuses(pull):
            shop.until_checked(pull, "success", "success")
        assert len(wait_for(lambda pull=pull: shop.comments(pull))) == 1
    assert "403" in wait_for(lambda: shop.control.get("/api/projects/shop/pulls").json()["problem"])


def is_deployed(shop: OnGitHub, pull: Pull) -> bool:
    """Return whether the last request has deployed the preview of a head."""
    is_active = shop.deployed("preview/1").get(pull.head) == "success"
    return is_active and shop.is_updated()
