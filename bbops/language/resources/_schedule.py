"""The times of scheduled runs: cron expressions, intervals, time zones."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Annotated
from zoneinfo import available_timezones

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from bbops.base.diagnostics import suggest
from bbops.base.names import Duration

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
