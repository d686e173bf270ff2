"""What `freeze:` of `server.yaml` may say, and the freezes that it means."""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import Annotated, Final, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from bbops.base.model import Model
from bbops_server.settings.freezes import Freeze, Once, Weekly

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_DAYS: Final[tuple[Day, ...]] = get_args(Day)
_CLOCK: Final = "%H:%M"


def _wrong(message: str, hint: str) -> PydanticCustomError:
    return PydanticCustomError("bad_value", "{message}", {"message": message, "hint": hint})


def _check_zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise _wrong(f"unknown time zone '{text}'", "such as Europe/Berlin, or UTC") from None
    return text


def _check_freeze(one: WrittenFreeze) -> WrittenFreeze:
    is_pair = (one.begins is None) == (one.ends is None)
    if one.days:
        if not is_pair:
            raise _wrong(
                "'from' and 'until' must be given together", "without both, whole days are frozen"
            )
        for text in filter(None, (one.begins, one.ends)):
            _read_clock(text)
    elif one.begins is None or one.ends is None:
        raise _wrong("a freeze has 'days', or 'from' and 'until'", "such as 'days: [fri, sat]'")
    elif _read_moment(one.begins) >= _read_moment(one.ends):
        raise _wrong(
            f"'{one.ends}' is not after '{one.begins}'", "'until' is the end of the freeze"
        )
    elif "zone" in one.model_fields_set:
        raise _wrong(
            "a freeze from one date to another has no 'zone'", "the dates contain their own zone"
        )
    return one


class WrittenFreeze(Model):
    """Times in which nothing new goes live: from a date to a date, or on days of each week."""

    days: list[Day] = []
    begins: Annotated[str | None, Field(alias="from")] = None
    ends: Annotated[str | None, Field(alias="until")] = None
    zone: Annotated[str, AfterValidator(_check_zone)] = "UTC"
    reason: Annotated[str, StringConstraints(max_length=500)] = ""


CheckedFreeze = Annotated[WrittenFreeze, AfterValidator(_check_freeze)]


def read_freeze(one: WrittenFreeze) -> Freeze:
    """Return what was written, once it is checked."""
    if one.days:
        days = frozenset(map(_DAYS.index, one.days))
        begins, ends = _read_clock(one.begins or "00:00"), _read_clock(one.ends or "24:00")
        return Weekly(days, begins, ends, one.zone, one.reason)
    return Once(_read_moment(one.begins or ""), _read_moment(one.ends or ""), one.reason)


def _read_clock(text: str) -> time:
    """Return a time of the day; the end of a day is the begin of the next."""
    try:
        read = datetime.strptime("00:00" if text == "24:00" else text, _CLOCK)  # noqa: DTZ007 - of a day, in no zone
    except ValueError:
        raise _wrong(f"expected a time of the day, got '{text}'", 'such as "16:00"') from None
    return read.time()


def _read_moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            return found.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise _wrong(
        f"expected a date and time with its zone, got '{text}'",
        "such as 2026-12-24T00:00:00+01:00",
    )
