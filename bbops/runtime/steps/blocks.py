"""Functions of the steps around other steps: limits, attempts, transactions, branches, waits."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections.abc import Callable, Coroutine
from dataclasses import replace
from types import TracebackType
from typing import Any, Final

from bbops.base.host import Events, Host
from bbops.runtime.flow.run import WITHIN, Run, Shape
from bbops.runtime.flow.tracing import TRACING
from bbops.runtime.values.failures import Failure, FlowError, InvalidInput, Late
from bbops.runtime.work.triggers import awaited_value
from bbops.runtime.work.values import AsleepError, JobWait

LONGEST_WAIT_SECONDS: Final = 60.0


class TimeLimit:
    """Ends what takes longer than `seconds`. The request's own end goes through untouched."""

    __slots__ = ("repeats", "seconds", "timeout")

    def __init__(self, seconds: float, *, repeats: bool = True) -> None:
        """Args: `repeats`: what it ends may be done again, however far it came."""
        self.seconds, self.repeats = seconds, repeats
        self.timeout = asyncio.timeout(seconds)

    async def __aenter__(self) -> None:
        await self.timeout.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        try:
            await self.timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            raise Late(self.seconds, repeats=self.repeats) from None


class Attempts:
    """Counts the attempts of one step, and waits between them: longer each time, never alike."""

    __slots__ = ("factor", "left", "seconds")

    def __init__(self, attempts: int, backoff_seconds: float, factor: float) -> None:
        self.left, self.seconds, self.factor = attempts, backoff_seconds, factor

    async def wait(self, run: Any, error: Failure) -> None:
        """Wait before the next attempt: as long as the other side asks for, if that is longer.

        Raises:
            Failure: `error` itself, where no attempt is left, it would come again, or the request
                would be over before.
        """
        if run.host.record is not None:
            run.host.record.reject()
        self.left -= 1
        if not self.left or not error.may_pass:
            raise error
        part = run.host.random.integer(500, 1000) / 1000  # else all who failed come back together
        pause = min(self.seconds, LONGEST_WAIT_SECONDS) * part
        if error.retry_after is not None and error.retry_after > pause:
            pause = error.retry_after
            if pause > min(LONGEST_WAIT_SECONDS, run.time_left()):
                raise error
        await asyncio.sleep(pause)
        self.seconds *= self.factor


class Within:
    """Runs steps in one transaction, used in `async with`; gives the doors that they use.

    Functions that they call use the same doors: `invoke` finds them in WITHIN.
    """

    __slots__ = ("door", "events", "host", "token")

    def __init__(self, run: Run) -> None:
        self.host: Host = run.host
        self.events: Events | None = None
        self.door = self.host.database.transaction()

    async def __aenter__(self) -> Host:
        database = await self.door.__aenter__()
        if self.host.events is not None:
            self.events = self.host.events.within(database)
        inner = replace(self.host, database=database, events=self.events)
        self.token = WITHIN.set(inner)
        return inner

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        WITHIN.reset(self.token)
        await self.door.__aexit__(kind, error, trace)
        if error is None and self.events is not None:
            await self.events.committed()


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


ENDED: Final = (CancelledError, AsleepError)
"""What ends a job's run though nothing failed."""


def is_asleep(end: BaseException | None) -> bool:
    """Return whether what ended a job's steps is that it sleeps: it has not come to their end."""
    return isinstance(end, AsleepError)


async def pause(host: Any, length_ms: int) -> None:
    """Go on after a time.

    Raises:
        AsleepError: it is not over.
    """
    _door(host).pause(length_ms)


async def hear(
    host: Any, event: str, is_it: Callable[[Any], Any] | None, value: Any, longest_ms: int
) -> Any:
    """Return the payload of the event that is waited for; None when the time is over.

    Args:
        is_it: the condition, a function of `event`; None where any event is the one.
        value: what the event must hold, as far as that is known; else None.

    Raises:
        AsleepError: it has not come yet.
    """

    def is_wanted(payload: Any) -> bool:
        return is_it is None or _holds(host, is_it, {"name": event, "payload": payload})

    wanted = awaited_value(value)
    return await _door(host).hear(event, is_wanted, wanted, longest_ms)


def _holds(host: Any, is_it: Callable[[Any], Any], event: dict[str, Any]) -> bool:
    """Return whether a condition holds; an event of another shape is not the one."""
    try:
        return bool(is_it(event))
    except Failure as error:
        host.log.write(
            "warn", f"'where' of 'wait' failed, so the event is passed over: {error}", {}
        )
        return False


def _door(host: Any) -> Any:
    if host.waits is None:
        raise FlowError("only a job can wait")
    return host.waits


def validated(check: Shape, value: Any) -> dict[str, Any]:
    """Return a value as its shape describes it: typed, with defaults, without other fields.

    Raises:
        InvalidInput: listing every wrong field.
    """
    errors: dict[str, list[str]] = {}
    typed = check(value, "", errors)
    if errors:
        raise InvalidInput(errors, "a value does not have the expected form")
    return typed
