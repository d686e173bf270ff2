"""What compiled code calls for the step `parallel`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from bbops.runtime.flow.tracing import TRACING
from bbops.runtime.work.values import AsleepError, JobWait


async def side_by_side(*branches: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run branches at the same time until all are done; one that fails cancels the others.

    Raises:
        Exception: what the first one that failed raised.
        AsleepError: no branch can go on before a time or an event.
    """
    waits = list[JobWait]()
    tracer = TRACING.get()
    try:
        async with asyncio.TaskGroup() as group:
            for branch in branches:
                running = _until_asleep(branch(), waits)
                group.create_task(tracer.drive(running) if tracer is not None else running)
    except BaseExceptionGroup as errors:
        first = errors.exceptions[0]
    else:
        if waits:
            raise AsleepError(*waits)
        return
    raise first


async def _until_asleep(branch: Coroutine[Any, Any, None], waits: list[JobWait]) -> None:
    """Run a branch of a job until its end, or until it has to wait; the others go on."""
    try:
        await branch
    except AsleepError as asleep:
        waits += asleep.waits
