"""Settings of jobs: attempts and limits, and the times of scheduled runs."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Literal
from zoneinfo import available_timezones

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from bbops.base.diagnostics import suggest
from bbops.base.model import Model
from bbops.base.names import Duration
from bbops.language.expressions.values import BareField
from bbops.language.resources._kind import FunctionName

Priority = Literal["high", "normal", "low"]


class Lane(Model):
    """Jobs with the same key take turns: `limit` of them run at a time, and with 1, in order."""

    key: BareField
    limit: Annotated[int, Field(ge=1, le=50)] = 1


class Unique(Model):
    """An event whose key another job has had within `for` runs nothing."""

    key: BareField
    for_: Duration = Field(default="24h", alias="for")


class Debounce(Model):
    """Only the last of several events with the same key runs, after a pause of `for`."""

    key: BareField
    for_: Duration = Field(alias="for")


class Retry(Model):
    """How often a failing run is tried, and how long it waits before the second one.

    Without `retry`, a run has 5 attempts: the second one after 5 s, and each wait is three times
    the one before, at most an hour. With it, a key that is left out has the value below.
    """

    attempts: Annotated[int, Field(ge=1, le=100)] = 3
    backoff: Duration = "1s"
    factor: Annotated[float, Field(ge=1, le=10)] = 2


class Job(Model):
    """How the jobs run that a step `enqueue` makes of a function; `key` of `lane` reads `input`.

    `onDead` is a function that runs when a job has failed for the last time, with the event
    `bbops.job-dead`.
    """

    lane: Lane | None = None
    priority: Priority = "normal"
    timeout: Duration | None = None
    retry: Retry | None = None
    on_dead: FunctionName | None = None


# ---- The times of scheduled runs: cron expressions, intervals, time zones

_FIELDS = "minute hour day-of-month month day-of-week"
_AT = datetime(2024, 1, 1, tzinfo=UTC)  # from a leap year on, so that 29 February comes soon


def check_cron(text: str) -> str:
    """Return a cron expression of five fields; refuse it if it is invalid or never comes."""
    if len(text.split()) != len(_FIELDS.split()):
        raise _bad_cron(f"a schedule has five fields, found {len(text.split())}", _FIELDS)
    try:
        next(CronSim(text, _AT))
    except CronSimError as problem:
        field = str(problem).removeprefix("Bad ")
        message = f"the field '{field}' of '{text}' is wrong"
        raise _bad_cron(message, f"in order: {_FIELDS}") from None
    except StopIteration:
        raise _bad_cron(f"'{text}' never comes", "no month has this day") from None
    return text


def _bad_cron(message: str, hint: str) -> PydanticCustomError:
    return PydanticCustomError("schedule", "{message}", {"message": message, "hint": hint})


def check_every(text: str) -> str:
    """Return a duration between two runs, at least a second."""
    if text.endswith("ms"):
        raise _bad_cron("'every' must be at least one second", "for example 'every: 10s'")
    return text


def check_timezone(name: str) -> str:
    """Return the name of a time zone, or refuse an unknown one."""
    if name not in _zones():
        hint = suggest(name, _zones()) or "use an IANA name, such as Europe/Berlin"
        raise PydanticCustomError(
            "unknown_timezone", "time zone '{name}' does not exist", {"name": name, "hint": hint}
        )
    return name


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


Cron = Annotated[str, AfterValidator(check_cron)]
"""Five fields: minute, hour, day of the month, month, day of the week."""
Every = Annotated[Duration, AfterValidator(check_every)]
TimeZone = Annotated[str, AfterValidator(check_timezone)]
