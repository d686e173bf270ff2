"""Let writes that are asked for in one turn of the event loop share a commit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

from bbops.runtime.values.failures import DatabaseFailure

MOST_SHARED: Final = 100
"""Writes that share a commit."""

MOST_SHARED_BYTES: Final = 64 << 10
"""Of one of them: others would wait for more, and all of it is in memory at once."""

Asked = TypeVar("Asked")
Given = TypeVar("Given")


class Shared(Generic[Asked, Given]):
    """Collects what is asked for until the loop turns, or while the commit before is under way.

    A commit costs more than what a job writes, on both databases. Order is kept.
    """

    def __init__(self, write: Callable[[Sequence[Asked]], Awaitable[Sequence[Given]]]) -> None:
        """Args: `write`: writes several in one transaction; what it gives has their order."""
        self._write = write
        self._waiting = list[tuple[Asked, asyncio.Future[Given]]]()
        self._writing: asyncio.Task[None] | None = None

    async def add(self, asked: Asked) -> Given:
        """Return what the write gives, once it is committed. Raises what it raises.

        Whoever is cancelled may find it written.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Given] = loop.create_future()
        self._waiting.append((asked, done))
        if self._writing is None:
            self._writing = loop.create_task(self._write_all())
        return await done

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                some, self._waiting = self._waiting[:MOST_SHARED], self._waiting[MOST_SHARED:]
                await self._write_some([one for one in some if not one[1].done()])
        finally:
            self._writing = None

    async def _write_some(self, some: Sequence[tuple[Asked, asyncio.Future[Given]]]) -> None:
        try:
            found = await self._write([asked for asked, _ in some]) if some else ()
        except BaseException as error:  # noqa: BLE001 - it reaches each of those who wait
            await self._failed(some, error)
            return
        for (_, done), one in zip(some, found, strict=True):
            if not done.done():
                done.set_result(one)

    async def _failed(
        self, some: Sequence[tuple[Asked, asyncio.Future[Given]]], error: BaseException
    ) -> None:
        """Write each alone where a row of one of them was refused; nothing is written then."""
        if len(some) > 1 and isinstance(error, DatabaseFailure):
            for one in some:
                await self._write_some([one])
            return
        for _, done in some:
            if not done.done():
                done.set_exception(error)
