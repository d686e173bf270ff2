"""Try a job once, and write how that went."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Final, Literal

from bbops.runtime.values.failures import Failure, JobFailure, PayloadFailure
from bbops.runtime.work.engine import Engine
from bbops.runtime.work.recorded import Recorded
from bbops.runtime.work.retry import Retry
from bbops.runtime.work.values import (
    AsleepError,
    Claim,
    FencedError,
    HeldError,
    LaterError,
    NewJob,
    Route,
    Tick,
    TickDue,
)

LOOK_SECONDS: Final = 1.0
"""Between two looks where nobody says that something has happened."""

CRASHED: Final = "the process that ran it ended each time before it did"
"""Why a job is given up that takes its process along."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a release says of its work.

    Attributes:
        route: which jobs an event makes.
        run: does a job; returns what is kept of what it returned, as JSON.
        due: says of a tick, and the time, what it makes.
        retry: how often work of a name is tried.
        arrange: gives a job that a step made its lane and priority.
    """

    route: Route
    run: Callable[[Recorded], Awaitable[str | None]]
    due: Callable[[Tick, int], TickDue]
    retry: Callable[[str], Retry] = lambda _: Retry()
    arrange: Callable[[NewJob], NewJob] = lambda job: job


@dataclass(frozen=True, slots=True)
class Attempt:
    """How an attempt of a job went.

    Attributes:
        outcome: `done`, `waiting` in a step, `retrying` later, `dead`, `held`.
        error: the failure, None for one that is done.
        reason: why it failed or is held.
    """

    job: Claim
    outcome: Literal["done", "waiting", "retrying", "dead", "held"]
    seconds: float
    error: Exception | None = None
    reason: str = ""


async def run_attempt(
    engine: Engine, job: Claim, plan: Plan, chance: Callable[[], float]
) -> Attempt:
    """Run a job that was claimed, and write how that went.

    Args:
        chance: gives a number from 0 to 1, for the pause before the next attempt.

    Raises:
        FencedError: somebody else has the job.
        LaterError: it is not to run yet.
    """
    began = perf_counter()
    if job.attempt > plan.retry(job.work).attempts:
        await written(lambda: engine.fail(job, CRASHED, None))
        return Attempt(job, "dead", perf_counter() - began, reason=CRASHED)
    try:
        outcome = await _run(engine, job, plan)
    except (FencedError, LaterError):
        raise
    except HeldError as held:
        reason = str(held)
        await written(lambda: engine.hold(job, reason))
        return Attempt(job, "held", perf_counter() - began, held, reason)
    except Exception as error:  # noqa: BLE001 - one job takes no other along
        reason = _reason(error)
        retry = Retry(attempts=1) if isinstance(error, PayloadFailure) else plan.retry(job.work)
        is_over = await _failed(engine, job, retry, reason, chance())
        seconds = perf_counter() - began
        return Attempt(job, "dead" if is_over else "retrying", seconds, error, reason)
    return Attempt(job, outcome, perf_counter() - began)


async def _run(engine: Engine, job: Claim, plan: Plan) -> Literal["done", "waiting"]:
    """Run a job until its end, or until it has to wait; return which."""
    known = await engine.steps(job) if job.attempt > 1 or job.fence > 1 else {}
    recorded = Recorded(engine, job, known)
    try:
        result = await plan.run(recorded)
    except AsleepError as asleep:
        await recorded.sleep(asleep.waits)
        return "waiting"
    await engine.end(job, result=result)
    return "done"


async def _failed(engine: Engine, job: Claim, retry: Retry, reason: str, chance: float) -> bool:
    """Try a job again, or give it up; return which."""
    pause = retry.pause_ms(job.attempt, chance)
    again_at = None if pause is None else engine.now() + pause
    await written(lambda: engine.fail(job, reason, again_at))
    return again_at is None


async def written(write: Callable[[], Awaitable[object]]) -> None:
    """Write how an attempt ended, as soon as the database takes it: until then nobody else runs."""
    while True:
        try:
            await write()
        except Failure as failure:
            _log.warning("the end of a job cannot be written yet: %s", failure.message)
            await asyncio.sleep(LOOK_SECONDS)
        else:
            return


def _reason(error: Exception) -> str:
    """Return why an attempt failed, without any value of a mistake of ours."""
    if not isinstance(error, Failure):
        return f"unexpected {type(error).__name__}"
    message = error.message or f"it failed with status {error.status}"
    return f"{message} [{error.code}]" if isinstance(error, JobFailure) else message
