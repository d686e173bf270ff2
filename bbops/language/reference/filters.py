"""The entries of filters, and of the letters and units of dates."""

from __future__ import annotations

from datetime import UTC, datetime
from inspect import signature
from typing import Final

from bbops.language.expressions.filters import ARGUMENTS
from bbops.language.reference._entry import (
    ARROW,
    Argument,
    DatabaseDifference,
    Entry,
    Sample,
    ValueExample,
)
from bbops.language.sql.filters import COLUMN_FILTERS
from bbops.language.sql.moment_filters import NOT_IN_SQL
from bbops.runtime.values.filters import FILTERS
from bbops.runtime.values.filters._registry import Filter, Function
from bbops.runtime.values.times import STARTS, format_time

_GIVES: Final = {"same": "the same type", "item": "a member", "any": "any value"}
_QUARTER: Final = "10 | divide(4, 3)"
"""The decimal 2.500."""

_DECIMALS: Final = {
    "round": ("A decimal stays a decimal.", (ValueExample(f"{_QUARTER} | round(1)", "2.5"),)),
    "divide": (
        "The result is a decimal, whatever numbers are divided; the places are 0 to 18.",
        (ValueExample("2 | divide(3, 4)", "0.6667"), ValueExample("-1 | divide(2, 0)", "-1")),
    ),
    "sum": (
        "The sum of decimals is an exact decimal.",
        (ValueExample(f"[{_QUARTER}, {_QUARTER}] | sum", "5.000"),),
    ),
    "avg": (
        "The average of decimals is a decimal with 6 places.",
        (ValueExample(f"[{_QUARTER}, {_QUARTER}] | avg", "2.500000"),),
    ),
    "abs": ("A decimal stays a decimal.", (ValueExample("-1 | divide(4, 2) | abs", "0.25"),)),
    "floor": ("A decimal becomes a whole number.", (ValueExample(f"{_QUARTER} | floor", 2),)),
    "ceil": ("A decimal becomes a whole number.", (ValueExample(f"{_QUARTER} | ceil", 3),)),
    "toNumber": (
        "A decimal becomes a number, which holds about 15 digits exactly.",
        (ValueExample(f"{_QUARTER} | toNumber", 2.5),),
    ),
    "toString": ("A decimal keeps its places.", (ValueExample(f"{_QUARTER} | toString", "2.500"),)),
    "format": ("A decimal loses no digit before it is rounded.",
               (ValueExample(f"{_QUARTER} | format('0.00')", "2.50"),)),
}  # fmt: skip

_SEARCH: Final = "The text that is searched for has at most 1,000 characters."
_NO_DECIMALS: Final = "On columns it does not take decimals."
_ZONE: Final = "a zone is a constant, or a value with an `enum`"
_ON_COLUMNS: Final = {
    "date": f"On columns the format is a constant, and {_ZONE}.",
    "startOf": f"On columns the unit is a constant, and {_ZONE}.",
    "add": f"On columns a duration is a constant, and {_ZONE}; seconds may be a column.",
    "difference": f"On columns {_ZONE}.",
    "slice": "On columns `start` and `end` are constants from 0 on, and neither is left out.",
    "divide": "On columns it takes decimals and whole numbers, and the places are a constant.",
    "round": "On columns the places of a decimal are a constant from 0 to 18.",
    "toString": "On columns it takes texts, whole numbers and booleans.",
    "floor": f"{_NO_DECIMALS} The result for a column of numbers is written as `2.0`.",
    "ceil": f"{_NO_DECIMALS} The result for a column of numbers is written as `2.0`.",
    "contains": _SEARCH, "startsWith": _SEARCH, "endsWith": _SEARCH, "replace": _SEARCH,
} | dict.fromkeys(
    ("abs", "min", "max", "clamp", "seconds", "minutes", "hours", "days",
     "weeks"), _NO_DECIMALS,
)  # fmt: skip

_SAMPLES: Final = {
    "lower": Sample("string", "Ada", "value | lower", "ada"),
    "upper": Sample("string", "Ada", "value | upper", "ADA"),
    "trim": Sample("string", " Ada ", "value | trim", "Ada"),
    "length": Sample("string", "Ada", "value | length", 3),
    "default": Sample("string", "Ada", "value | default('none')", "Ada"),
    "slice": Sample("string", "abcdef", "value | slice(1, 4)", "bcd"),
    "replace": Sample("string", "a.b", "value | replace('.', '-')", "a-b"),
    "contains": Sample("string", "hello", "value | contains('ell')", result=True),
    "startsWith": Sample("string", "hello", "value | startsWith('he')", result=True),
    "endsWith": Sample("string", "hello", "value | endsWith('lo')", result=True),
    "toString": Sample("integer", 12, "value | toString", "12"),
    "round": Sample("decimal", "2.345", "value | round(2)", "2.35"),
    "divide": Sample("decimal", "10", "value | divide(3, 2)", "3.33"),
    "floor": Sample("number", -1.5, "value | floor", -2.0),
    "ceil": Sample("number", 1.2, "value | ceil", 2.0),
    "abs": Sample("integer", -3, "value | abs", 3),
    "min": Sample("integer", 7, "value | min(5)", 5),
    "max": Sample("integer", 7, "value | max(5)", 7),
    "clamp": Sample("integer", 500, "value | clamp(1, 100)", 100),
    "date": Sample("datetime", "2026-03-05T23:30:00Z",
                   "value | date('%d.%m.%Y %H:%M', 'Europe/Berlin')", "06.03.2026 00:30"),
    "startOf": Sample("datetime", "2026-03-05T23:30:00Z", "value | startOf('month')",
                      "2026-03-01T00:00:00Z"),
    "add": Sample("date", "2026-01-31", "value | add('1mo')", "2026-02-28"),
    "difference": Sample("date", "2026-03-05", "value | difference(value | add('-2d'), 'd')", 2),
    "seconds": Sample("integer", 90, "value | seconds", 90),
    "minutes": Sample("integer", 2, "value | minutes", 120),
    "hours": Sample("integer", 2, "value | hours", 7200),
    "days": Sample("integer", 2, "value | days", 172800),
    "weeks": Sample("integer", 1, "value | weeks", 604800),
}  # fmt: skip
"""An example on a column for each filter that supports columns."""

_UNICODE: Final = DatabaseDifference(
    "On columns the letters follow the Unicode version of the database: PostgreSQL 17 leaves `ß` "
    "as it is in capitals."
)
_DIFFERENCES: Final = {
    "lower": _UNICODE,
    "upper": _UNICODE,
    "round": DatabaseDifference(
        "Numbers beyond 1e13 are rounded exactly on PostgreSQL; SQLite keeps 15 digits.",
        Sample("number", 123456789012345.67, "value | round(2)", 123456789012345.6),
        123456789012345.67,
    ),
}


def filter_entries() -> tuple[Entry, ...]:
    """Return an entry for each filter."""
    return tuple(_entry(name, declared) for name, declared in FILTERS.items())


def _entry(name: str, declared: Filter) -> Entry:
    arguments = arguments_of(name, declared, hidden=1)
    takes = " or ".join("any value" if word == "any" else word for word in declared.takes.split())
    gives, called = (
        gives_of(declared.gives),
        f"({', '.join(map(str, arguments))})" if arguments else "",
    )
    decimals, examples = _DECIMALS.get(name, ("", ()))
    return Entry(
        "filter", name, name, f"{takes} | {name}{called} → {gives}", declared.summary,
        takes, arguments, gives, ValueExample(*declared.example), decimals, examples,
        _columns(name, takes_null=declared.accepts_null),
        (_SAMPLES[name],) if name in COLUMN_FILTERS else (),
        difference=_DIFFERENCES.get(name), tables=_tables(name),
    )  # fmt: skip


def _tables(name: str) -> dict[str, tuple[tuple[str, ...], ...]] | None:
    if name == "date":
        return {"The letters, with 2026-03-05T09:07:02.5Z": letter_table()}
    if name == "startOf":
        return {"The units": (("unit",), *((f"`{unit}`",) for unit in STARTS))}
    return {"The units of durations": duration_table()} if name == "add" else None


def _columns(name: str, *, takes_null: bool) -> str:
    said = ["Takes null, too."] if takes_null else []
    said.append("Runs on columns, too." if name in COLUMN_FILTERS else "Does not run on columns.")
    return " ".join(filter(None, [*said, _ON_COLUMNS.get(name, "")]))


def arguments_of(name: str, function: Filter | Function, *, hidden: int) -> tuple[Argument, ...]:
    """Return the arguments of a filter or function; the first `hidden` ones are not written."""
    kinds = ARGUMENTS.get(name, ())
    arrows = function.arrows if isinstance(function, Filter) else {}
    parameters = list(signature(function.apply).parameters.values())[hidden:]
    found = []
    for place, parameter in enumerate(parameters):
        kind = kinds[min(place, len(kinds) - 1)] if kinds else "any?"
        is_any_number = parameter.kind is parameter.VAR_POSITIONAL
        takes = ARROW if place in arrows else _words(kind)
        written = f"{parameter.name}…" if is_any_number else parameter.name
        found.append(Argument(written, takes, place >= function.least and not is_any_number))
    return tuple(found)


def _words(kinds: str) -> str:
    if kinds == "any?":
        return "any value"
    return " or ".join([*kinds.rstrip("?").split(), *(["null"] if kinds.endswith("?") else [])])


def gives_of(word: str) -> str:
    """Return the type of a result as words."""
    return _GIVES.get(word, word)


# ---- The letters of date formats, the units of `startOf` and the units of durations

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
