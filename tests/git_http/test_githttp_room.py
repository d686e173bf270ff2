"""How many exchanges with git there are at once, and who waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

import bbops_server.git_http.serving as rooms
from bbops_server.git_http.backend import GitRequest, Refusal
from bbops_server.git_http.serving import MOST_FETCHES, MOST_PUSHES, MOST_WAITING, Concurrency
from tests.support.patience import settle

pytestmark = pytest.mark.quick

PUSH = GitRequest("shop", "git-receive-pack", is_greeting=False, variables={})
GREETING = GitRequest("shop", "git-receive-pack", is_greeting=True, variables={})
FETCH = GitRequest("shop", "git-upload-pack", is_greeting=False, variables={})


class Held:
    """An exchange that goes on until it is told to end."""

    def __init__(self, room: Concurrency, asked: GitRequest, person: str) -> None:
        self.is_in, self.end = False, asyncio.Event()
        self.task = asyncio.create_task(self._run(room, asked, person))

    async def _run(self, room: Concurrency, asked: GitRequest, person: str) -> None:
        async with room.take(asked, person):
            self.is_in = True
            await self.end.wait()


async def begin(room: Concurrency, asked: GitRequest, *people: str) -> list[Held]:
    held = [Held(room, asked, person) for person in people]
    await settle()
    return held


async def end(*held: Held) -> None:
    for one in held:
        one.end.set()
    await asyncio.gather(*(one.task for one in held))
    await settle()


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]


def test_a_third_push_of_a_person_waits_for_one_of_theirs() -> None:
    async def test() -> None:
        room = Concurrency()
        held = await begin(room, PUSH, "ada", "ada", "ada", "bob")
        assert [one.is_in for one in held] == [True, True, False, True]
        await end(held[3])
        assert not held[2].is_in  # a place is free, but she has her two
        await end(held[0])
        assert held[2].is_in
        await end(*held)

    run(test)


def test_a_greeting_is_not_kept_waiting_by_pushes() -> None:
    async def test() -> None:
        room = Concurrency()
        pushes = await begin(room, PUSH, "ada", "ada")
        (greeting,) = await begin(room, GREETING, "ada")
        assert greeting.is_in
        await end(*pushes, greeting)

    run(test)


@pytest.mark.parametrize(("asked", "most"), [(PUSH, MOST_PUSHES), (FETCH, MOST_FETCHES)])
def test_who_waits_enters_in_turn(asked: GitRequest, most: int) -> None:
    async def test() -> None:
        room = Concurrency()
        held = await begin(room, asked, *(f"person {number}" for number in range(most)))
        waiting = await begin(room, asked, "next", "after")
        assert [one.is_in for one in waiting] == [False, False]
        await end(held[0])
        assert [one.is_in for one in waiting] == [True, False]
        await end(*held, *waiting)

    run(test)


def test_too_many_that_wait_are_refused() -> None:
    async def test() -> None:
        room = Concurrency()
        share = MOST_WAITING // 4
        held = await begin(room, PUSH, *["ada"] * (2 + share))
        with pytest.raises(Refusal, match=f"{share} pushes of yours are waiting") as refused:
            async with room.take(PUSH, "ada"):
                pass
        assert refused.value.status == 429
        more = await begin(room, PUSH, *(f"person {n}" for n in range(MOST_WAITING - share + 2)))
        with pytest.raises(Refusal, match=f"{MOST_WAITING} pushes are waiting") as refused:
            async with room.take(PUSH, "one more"):
                pass
        assert refused.value.status == 503
        for one in (*held, *more):
            one.end.set()
        await asyncio.gather(*(one.task for one in (*held, *more)))

    run(test)


def test_who_leaves_or_waits_too_long_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        room = Concurrency()
        held = await begin(room, PUSH, "ada", "ada")
        (gone,) = await begin(room, PUSH, "ada")
        gone.task.cancel()
        await asyncio.gather(gone.task, return_exceptions=True)
        monkeypatch.setattr(rooms, "WAIT_SECONDS", 0.01)
        with pytest.raises(Refusal, match="none finished in time") as refused:
            async with room.take(PUSH, "ada"):
                pass
        assert (refused.value.status, refused.value.headers) == (503, {"retry-after": "5"})
        await end(*held)
        (fresh,) = await begin(room, PUSH, "ada")
        assert fresh.is_in
        await end(fresh)

    run(test)
