"""What compiled code calls for the step `parallel`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


async def side_by_side(*branches: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run branches at the same time until all are done; one that fails cancels the others.

    Raises:
        Exception: what the first one that failed raised.
    """
    try:
        async with asyncio.TaskGroup() as group:
            for branch in branches:
                group.create_task(branch())
    except BaseExceptionGroup as errors:
        first = errors.exceptions[0]
    else:
        return
    raise first
