"""Requests to a vendor take turns, however many processes ask: on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bbops.compiler.testing.host import fake_host
from bbops.database.migrate.migrate import apply
from bbops.database.open import open_database
from bbops.database.schema.place import Place
from bbops.runtime.values.failures import HttpFailure
from bbops.runtime.vendors._pace import LONGEST_SECONDS, Pace
from bbops_server.process.host.system import SystemClock
from tests.support.postgres import DATABASES, place_of

CONFIG = {"accessToken": "secret"}
Story = Callable[[list[Pace]], Awaitable[None]]


class Ticking:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.at = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        """Return the time that was set."""
        return self.at


def paced(place: Place, story: Story, *, doors: int = 1, rate: float = 2.0, clock: Any) -> None:
    """Run a story with the paces of one account, each through a connection of its own."""
    apply(place, {})

    async def main() -> None:
        async with AsyncExitStack() as stack:
            paces = []
            for _ in range(doors):
                door = await open_database(place)
                stack.push_async_callback(door.close)
                paces.append(Pace(replace(fake_host(door), clock=clock), "store", CONFIG, rate))
            await story(paces)

    asyncio.run(main())


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with place_of(request, tmp_path) as found:
        yield found / "data.sqlite" if isinstance(found, Path) else found


def test_turns_are_apart_over_all_who_ask(place: Place) -> None:
    async def story(paces: list[Pace]) -> None:
        async def ask(pace: Pace) -> list[float]:
            return [await pace.take() for _ in range(10)]

        found = await asyncio.gather(*map(ask, paces))
        turns = sorted(turn for one in found for turn in one)
        assert len(turns) == 40
        assert all(b - a >= 0.0099 for a, b in pairwise(turns))
        assert all(one == sorted(one) for one in found)

    paced(place, story, doors=4, rate=100.0, clock=SystemClock())


def test_who_would_wait_too_long_is_refused_and_reserves_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Ticking()

    async def at_once(_: float) -> None: ...

    monkeypatch.setattr("bbops.runtime.vendors._pace.asyncio.sleep", at_once)

    async def story(paces: list[Pace]) -> None:
        (pace,) = paces
        for _ in range(int(LONGEST_SECONDS * 2) + 1):
            await pace.take()
        for _ in range(3):
            with pytest.raises(HttpFailure) as raised:
                await pace.take()
            assert (raised.value.answered, raised.value.may_pass) == (429, True)
            assert raised.value.retry_after == 0.5
        clock.at += timedelta(seconds=0.5)
        await pace.take()

    paced(place, story, clock=clock)


def test_a_vendor_that_asks_to_wait_is_left_alone_by_all(place: Place) -> None:
    clock = Ticking()

    async def story(paces: list[Pace]) -> None:
        one, other = paces
        await one.hold(30)
        with pytest.raises(HttpFailure):
            await other.take()
        await one.hold(5)  # a shorter one changes nothing
        clock.at += timedelta(seconds=31)
        assert await other.take() == clock.at.timestamp()

    paced(place, story, doors=2, clock=clock)


def test_the_name_of_an_account_holds_no_secret() -> None:
    pace = Pace(fake_host(None), "store", CONFIG, 2.0)  # type: ignore[arg-type]
    other = Pace(fake_host(None), "store", CONFIG | {"accessToken": "b"}, 2.0)  # type: ignore[arg-type]
    assert "secret" not in pace.account
    assert pace.account != other.account
