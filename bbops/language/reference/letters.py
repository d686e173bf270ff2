"""The letters of date formats, the units of `startOf` and the units of durations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from bbops.language.sql.moment_filters import NOT_IN_SQL
from bbops.runtime.values.times import format_time

LETTERS: Final = {
    "Y": "year", "y": "year, two digits", "m": "month", "B": "month's name",
    "b": "month's name, short", "d": "day", "e": "day, padded with a blank",
    "j": "day of the year", "H": "hour", "I": "hour of 12", "p": "AM or PM", "M": "minute",
    "S": "second", "f": "microsecond", "T": "%H:%M:%S", "F": "%Y-%m-%d",
    "A": "weekday's name", "a": "weekday's name, short", "u": "weekday, Monday is 1",
    "w": "weekday, Sunday is 0", "V": "ISO week", "G": "year of the ISO week",
    "z": "offset of the zone", "Z": "name of the zone", "s": "seconds since 1970",
    "%": "a percent sign",
}  # fmt: skip
"""The meaning of each letter of `date`."""
DURATIONS: Final = {
    "ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks",
    "mo": "months", "y": "years",
}  # fmt: skip
"""The meaning of each unit of a duration."""
_MOMENT: Final = datetime(2026, 3, 5, 9, 7, 2, 500000, UTC)


def letter_table() -> tuple[tuple[str, ...], ...]:
    """Return a row per letter: how it is written, what it is, an example, whether SQL has it."""
    head = ("letter", "stands for", "example", "on columns")
    rows = (
        (f"`%{letter}`", text, f"`{format_time(_MOMENT, f'%{letter}')}`",
         "no" if letter in NOT_IN_SQL else "yes")
        for letter, text in LETTERS.items()
    )  # fmt: skip
    return (head, *rows)


def duration_table() -> tuple[tuple[str, ...], ...]:
    """Return a row per unit of durations."""
    rows = ((f"`{unit}`", text, f"`'3{unit}'`") for unit, text in DURATIONS.items())
    return (("unit", "stands for", "example"), *rows)
