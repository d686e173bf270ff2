"""What stands around a step with `timeout` or `retry`."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Final

from bbops.runtime.values.failures import Failure, Late

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
