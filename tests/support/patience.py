"""How long tests wait: until a condition holds, at most for one time that is the same everywhere.

A test that fails waits in vain, so the time costs nothing while tests pass. No test names seconds
of its own.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import Final, TypeVar

import httpx

PATIENCE_SECONDS: Final = float(os.environ.get("BBOPS_TEST_PATIENCE", "180"))
"""The longest wait for a condition; below the timeout of a test in pyproject.toml."""

_POLL_SECONDS: Final = 0.02
_TURNS: Final = 100

T = TypeVar("T")


def wait_for(condition: Callable[[], T]) -> T:
    """Poll a condition until it is true, and return its value.

    A server that does not answer counts as a condition that is not true yet.
    """
    end = time.monotonic() + PATIENCE_SECONDS
    found: object = None
    while time.monotonic() < end:
        try:
            found = value = condition()
        except httpx.TransportError as error:
            found = error
        else:
            if value:
                return value
        time.sleep(_POLL_SECONDS)
    raise AssertionError(f"not true after {PATIENCE_SECONDS:.0f} s; last seen: {found!r}")


async def eventually(condition: Callable[[], T]) -> T:
    """Poll a condition between turns of the event loop, as `wait_for`."""
    async with patience():
        while not (value := condition()):
            await asyncio.sleep(_POLL_SECONDS)
    return value


async def settle() -> None:
    """Run the event loop until tasks that need no input or timer have nothing left to do."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


def patience() -> asyncio.Timeout:
    """Return a context that ends a wait which takes too long."""
    return asyncio.timeout(PATIENCE_SECONDS)
