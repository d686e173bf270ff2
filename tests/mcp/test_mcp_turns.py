"""Work of agents is done one after the other of each person, so nobody waits for all of another."""

from __future__ import annotations

import asyncio

import pytest

from bbops.interfaces.mcp.tool import ToolError
from bbops_server.mcp import fair_queue
from bbops_server.mcp.fair_queue import OneAtATime


async def work(turns: OneAtATime, person: str, thread: asyncio.Lock, done: list[str]) -> None:
    async with turns.turn(person), thread:
        await asyncio.sleep(0)
        done.append(person)


def test_a_colleague_waits_for_one_work_of_somebody_who_asks_for_many() -> None:
    async def main() -> list[str]:
        turns, thread, done = OneAtATime(), asyncio.Lock(), list[str]()
        asked = ["ada"] * 20 + ["bob"]
        await asyncio.gather(*(work(turns, one, thread, done) for one in asked))
        return done

    done = asyncio.run(main())
    assert (len(done), done.index("bob")) == (21, 1)


def test_who_waits_too_long_for_themselves_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_queue, "WAIT_SECONDS", 0.01)

    async def main() -> None:
        turns = OneAtATime()
        async with turns.turn("ada"):
            async with turns.turn("bob"):
                pass
            with pytest.raises(ToolError, match="your other agents have used"):
                async with turns.turn("ada"):
                    pass
        async with turns.turn("ada"):
            pass

    asyncio.run(main())
