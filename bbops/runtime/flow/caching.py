"""What compiled code calls for the steps `cache` and `forget`."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any, Final

from bbops.runtime.values.operators import text
from bbops.runtime.values.values import check_size

MAX_KEYS: Final = 1_000
"""Keys that a process keeps; those not asked for the longest time make room."""
MAX_VALUE: Final = 100_000
"""Characters and members of a value that is kept."""

Place = tuple[str, str]
"""A key, and the step that fills it: two steps with one key may keep other types of values."""

_MAKING: ContextVar[frozenset[Place]] = ContextVar("_MAKING", default=frozenset())


class Cache:
    """Values of one release in one process, each for a time."""

    def __init__(self) -> None:
        self.kept: OrderedDict[str, dict[str, tuple[datetime, Any]]] = OrderedDict()
        self.pending: dict[Place, asyncio.Future[None]] = {}

    def find(self, place: Place, now: datetime) -> list[Any]:
        """Return the value in a list, or an empty one where none is kept."""
        found = self.kept.get(place[0], {}).get(place[1])
        if found is None or found[0] <= now:
            return []
        self.kept.move_to_end(place[0])
        return [found[1]]

    def keep(self, place: Place, until: datetime, value: Any) -> None:
        """Keep a value; a key that was not asked for in a long time may make room for it."""
        self.kept.setdefault(place[0], {})[place[1]] = until, value
        self.kept.move_to_end(place[0])
        while len(self.kept) > MAX_KEYS:
            self.kept.popitem(last=False)

    def forget(self, key: str) -> None:
        """Drop what is kept under a key, and do not keep what is being made for it."""
        self.kept.pop(key, None)
        for place in [one for one in self.pending if one[0] == key]:
            del self.pending[place]


async def cached(
    run: Any, key: Any, step: str, seconds: float, make: Callable[[], Awaitable[Any]]
) -> Any:
    """Return what is kept, or make it: once, however many ask at the same time."""
    cache: Cache = run.cache
    place = (text(key), step)
    if place in _MAKING.get():  # making it asks for it: nobody else would answer
        return await make()
    while not (found := cache.find(place, run.host.clock.now())):
        pending = cache.pending.get(place)
        if pending is None:
            return await _make(cache, run, place, seconds, make)
        await asyncio.wait([pending])
    return found[0]


async def _make(
    cache: Cache, run: Any, place: Place, seconds: float, make: Callable[[], Awaitable[Any]]
) -> Any:
    """Make a value and keep it. Who waits for it tries again where this fails."""
    pending = cache.pending[place] = asyncio.get_running_loop().create_future()
    token = _MAKING.set(_MAKING.get() | {place})
    try:
        value = await make()
        check_size([value], MAX_VALUE)
        if cache.pending.get(place) is pending:
            cache.keep(place, run.host.clock.now() + timedelta(seconds=seconds), value)
        return value
    finally:
        _MAKING.reset(token)
        if cache.pending.get(place) is pending:
            del cache.pending[place]
        pending.set_result(None)


def forget(run: Any, key: Any) -> None:
    """Drop what is kept under a key."""
    run.cache.forget(text(key))
