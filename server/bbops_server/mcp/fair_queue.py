"""A queue for the work of each person's agents, which share one thread.

A person with a hundred previews at once waits for all of them, and a colleague for one of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from bbops.interfaces.mcp.tool import ToolError
from bbops_server.accounts.text_rules import ControlAway

WAIT_SECONDS: Final = 60.0


class OneAtATime:
    """Locks of persons with work under way."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, person: str) -> AsyncIterator[None]:
        """Hold the lock of a person while the block runs.

        Raises:
            ToolError: earlier work takes too long.
        """
        lock = self._locks.setdefault(person, asyncio.Lock())
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await lock.acquire()
        except TimeoutError:
            raise ToolError(
                f"your other agents have used {WAIT_SECONDS:g} seconds",
                hint="make fewer calls at once, and try again in a moment",
            ) from None
        try:
            yield
        finally:
            lock.release()


# ---- Queries of accounts for tools, without errors that name their database

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


async def ask(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of a blocking call, run in a thread.

    Raises:
        ToolError: the accounts are not available.
    """
    try:
        return await asyncio.to_thread(call, *args, **kwargs)
    except ControlAway as error:
        _log.warning("%s", error.message)
        raise ToolError(
            "accounts are temporarily unavailable", hint="try again in a moment"
        ) from None
