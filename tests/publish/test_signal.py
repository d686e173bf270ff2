"""Signals wake who waits, at once and only then."""

from __future__ import annotations

import asyncio

from bbops_server.publish.status.status import Signal


def test_who_waits_goes_on_once_it_is_true() -> None:
    async def main() -> None:
        signal, seen = Signal(), list[int]()
        waiting = asyncio.create_task(signal.wait(lambda: len(seen) == 2, 60))
        for number in range(2):
            await asyncio.sleep(0)
            assert not waiting.done()
            seen.append(number)
            signal.send()
        async with asyncio.timeout(10):
            assert await waiting

    asyncio.run(main())


def test_who_waits_too_long_is_told_so() -> None:
    async def main() -> None:
        assert not await Signal().wait(lambda: False, 0.01)

    asyncio.run(main())


def test_a_change_between_the_look_and_the_wait_is_not_missed() -> None:
    async def main() -> None:
        signal = Signal()
        changed = signal.next()
        signal.send()
        async with asyncio.timeout(10):
            await changed.wait()

    asyncio.run(main())
