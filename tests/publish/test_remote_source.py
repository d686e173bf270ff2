"""When a repository elsewhere is looked at, and what is known meanwhile. No git here."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.base.errors import GitError
from bbops.source.git.address import Address
from bbops_server.process.messages.repositories import Fetch, FetchAnswer
from bbops_server.publish.sources import remote
from bbops_server.publish.sources.remote import LONGEST_PAUSE_SECONDS, RemoteSource, pause_seconds
from bbops_server.publish.status.status import Stalled
from tests.support.clock import MonotonicClock
from tests.support.patience import eventually, settle

PERIOD_SECONDS = 3600
ADDRESS = Address.parse("https://example.org/shop.git")


class Build:
    """A build process that answers what the test says, when it says so."""

    def __init__(self, *answers: str | Exception | None) -> None:
        self.answers, self.asked = list(answers), 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def ask(self, request: Fetch, *, timeout_seconds: float) -> FetchAnswer:
        self.asked += 1
        await self.gate.wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return FetchAnswer(answer, "", "")


def source() -> RemoteSource:
    assert ADDRESS is not None
    return RemoteSource(ADDRESS, "main", Path("mirror"), every_seconds=PERIOD_SECONDS)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> MonotonicClock:
    """The clock by which a source fetches."""
    clock = MonotonicClock()
    monkeypatch.setattr(remote, "monotonic", clock)
    return clock


@given(st.floats(0.1, 86_400), st.integers(0, 5000))
def test_pauses_grow_with_failures_and_end_at_five_minutes(every: float, failures: int) -> None:
    longest = max(every, LONGEST_PAUSE_SECONDS)
    pause = pause_seconds(every, failures)
    assert 0.9 * every <= pause <= 1.1 * longest
    expected = min(every * 2.0 ** min(failures, 100), longest)
    assert 0.899 * expected <= pause <= 1.101 * expected


def test_many_servers_do_not_look_at_the_same_moment() -> None:
    assert len({pause_seconds(30, 0) for _ in range(50)}) > 10


def test_it_is_looked_at_when_it_is_time_and_not_before() -> None:
    async def main() -> None:
        following, build = source(), Build("a", "b")
        for _ in range(5):
            assert await following.stamp(build) == ("a", "")  # type: ignore[arg-type]
        assert build.asked == 1
        following.refresh()
        assert await following.stamp(build) == ("b", "")  # type: ignore[arg-type]

    asyncio.run(main())


def test_a_refresh_during_a_look_causes_another_look() -> None:
    async def main() -> None:
        following, build = source(), Build("a", "b", "c")
        await following.stamp(build)  # type: ignore[arg-type]
        following.refresh()
        build.gate.clear()
        looking = asyncio.create_task(following.stamp(build))  # type: ignore[arg-type]
        await eventually(lambda: build.asked == 2)
        following.refresh()
        build.gate.set()
        assert await looking == ("b", "")
        assert await following.stamp(build) == ("c", "")  # type: ignore[arg-type]

    asyncio.run(main())


def test_a_clock_that_jumps_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, clock: MonotonicClock
) -> None:
    async def main() -> None:
        following, build = source(), Build("a", "b")
        await following.stamp(build)  # type: ignore[arg-type]
        real = time.time()
        monkeypatch.setattr(time, "time", lambda: real - 1e9)
        clock.seconds += 2 * PERIOD_SECONDS
        await following.stamp(build)  # type: ignore[arg-type]
        await settle()
        assert await following.stamp(build) == ("b", "")  # type: ignore[arg-type]

    asyncio.run(main())


def test_the_known_commit_stays_known_during_a_slow_fetch(clock: MonotonicClock) -> None:
    async def main() -> None:
        following, build = source(), Build("a", "b")
        assert await following.stamp(build) == ("a", "")  # type: ignore[arg-type]
        build.gate.clear()
        clock.seconds += 2 * PERIOD_SECONDS
        assert await following.stamp(build) == ("a", "")  # type: ignore[arg-type]
        assert build.asked == 1
        await settle()
        assert build.asked == 2
        build.gate.set()
        await settle()
        assert await following.stamp(build) == ("b", "")  # type: ignore[arg-type]

    asyncio.run(main())


def test_a_look_that_fails_is_told_and_forgotten_when_one_succeeds() -> None:
    async def main() -> None:
        following, build = source(), Build(GitError("no host"), "a", None)
        with pytest.raises(Stalled) as raised:
            await following.stamp(build)  # type: ignore[arg-type]
        assert (raised.value.reason, raised.value.message) == ("FetchFailed", "no host")
        assert raised.value.is_passing
        following.refresh()
        assert await following.stamp(build) == ("a", "")  # type: ignore[arg-type]
        found = await following.revision(build)  # type: ignore[arg-type]
        assert found is not None
        assert found.revision == "main@sha1:a"
        following.refresh()
        assert await following.stamp(build) == (None, "")  # type: ignore[arg-type]
        assert await following.revision(build) is None  # type: ignore[arg-type]

    asyncio.run(main())


def test_a_refresh_waits_for_a_fetch_that_begins_afterwards(clock: MonotonicClock) -> None:
    async def main() -> None:
        following, build = source(), Build("a", "before", "after")
        await following.stamp(build)  # type: ignore[arg-type]
        clock.seconds += 2 * PERIOD_SECONDS
        build.gate.clear()
        await following.stamp(build)  # type: ignore[arg-type]
        await settle()
        following.refresh()
        waiting = asyncio.create_task(following.stamp(build))  # type: ignore[arg-type]
        await settle()
        build.gate.set()
        assert await waiting == ("after", "")

    asyncio.run(main())
