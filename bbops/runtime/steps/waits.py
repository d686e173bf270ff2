"""What compiled code calls for the step `wait`."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from typing import Any, Final

from bbops.runtime.values.failures import Failure, FlowError
from bbops.runtime.work.triggers import awaited_value
from bbops.runtime.work.values import AsleepError

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
