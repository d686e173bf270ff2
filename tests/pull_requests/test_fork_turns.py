"""The order of pull requests from forks, and the requests that are kept for other work."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bbops.base.host import HttpResponse
from bbops_server.forges.api_limits import RequestLimits
from bbops_server.forges.values import PullRequest, RequestBudget
from bbops_server.publish.pull_requests.fork_heads import ForkTurns
from bbops_server.publish.pull_requests.reading import (
    MAX_OF_AUTHOR,
    FollowedPull,
    choose_followed,
)
from tests.support.clock import Clock

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def pull(number: int, author: str, *, is_fork: bool = True) -> PullRequest:
    """Return an open pull request."""
    return PullRequest(
        number, "Change", "open", author, f"{number:040x}", "patch", "main", "", is_fork=is_fork
    )


def numbers(turns: ForkTurns, *pulls: PullRequest) -> list[int]:
    """Return the numbers of forks in their order."""
    followed = [FollowedPull(pull, pull.head) for pull in pulls]
    return [each.pull.number for each in turns.sort(followed)]


def test_authors_alternate_so_that_one_author_delays_no_other() -> None:
    flood = [pull(number, "mallory") for number in range(1, 6)]
    assert numbers(ForkTurns(), *flood, pull(9, "ada")) == [1, 9, 2, 3, 4, 5]


def test_fork_with_the_oldest_update_is_next() -> None:
    turns = ForkTurns()
    pulls = [pull(1, "ada"), pull(2, "bob"), pull(3, "eve")]
    turns.take(1)
    turns.take(3)
    assert numbers(turns, *pulls) == [2, 1, 3]
    turns.take(2)
    assert numbers(turns, *pulls) == [1, 3, 2]


def test_forks_of_one_author_are_bounded_and_own_branches_come_first() -> None:
    flood = [pull(number, "mallory") for number in range(200, 0, -1)]
    own = pull(201, "ada", is_fork=False)
    followed = choose_followed([*flood, pull(202, "bob"), own], 200)
    assert followed[0] == own
    assert [each.author for each in followed].count("mallory") == MAX_OF_AUTHOR
    assert pull(202, "bob") in followed


@pytest.mark.parametrize(
    ("limit", "reserve"), [(5_000, 500), (15_000, 1_500), (600, 300), (None, 500)]
)
def test_reserve_is_a_tenth_at_least_500_and_at_most_a_half(
    limit: int | None, reserve: int
) -> None:
    assert RequestBudget(1, limit).reserve == reserve
    assert RequestBudget(reserve - 1, limit).is_low
    assert not RequestBudget(reserve, limit).is_low
    assert not RequestBudget(None, limit).is_low


def headers(**more: str) -> HttpResponse:
    """Return a response with the headers of limits."""
    named = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "420"}
    return HttpResponse(200, {**named, **{f"x-ratelimit-{key}": more[key] for key in more}}, b"")


@pytest.mark.parametrize("reset", [str(int(NOW.timestamp()) + 600), "600"])
def test_budget_is_unknown_after_the_end_of_the_window(reset: str) -> None:
    clock = Clock(NOW)
    limits = RequestLimits("forge.example", clock)
    limits.read(headers(reset=reset))
    assert limits.budget() == RequestBudget(420, 5_000, 600.0)
    assert "420 of 5000 requests are left" in limits.budget().explain()
    assert "window ends in 10 min" in limits.budget().explain()
    clock.move(601)
    assert limits.budget().left is None
    assert limits.budget().explain() == ""


def test_limit_of_another_api_leaves_the_budget_alone() -> None:
    limits = RequestLimits("github.com", Clock(NOW))
    limits.read(headers(reset="600"))
    limits.read(headers(resource="graphql", remaining="7"))
    assert limits.budget().left == 420
