"""The scalar types of shapes and the rules a field may add to its type.

Messages are for the people who fill in a form: short, no words of the machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

from bbops.runtime.values import formats, operators, times
from bbops.runtime.values.decimals import MOST_DIGITS, exact, fits, inexact, parse_decimal
from bbops.runtime.values.failures import NOTHING, FlowError
from bbops.runtime.values.filters.maps import write_json
from bbops.runtime.values.regex import compile_pattern, has_match
from bbops.runtime.values.values import MAX_INTEGER, MIN_INTEGER

Spec = Mapping[str, Any]
Convert = Callable[[Any], Any]
"""Returns the typed value, or NOTHING when the value is not of that type."""
Rule = tuple[Callable[[Any], bool], str]
"""Whether a typed value keeps the rule, and what to say when it does not."""

Say = Callable[[str, Any, str], str]
"""What to say of a broken rule: its name, its limit and the usual text give the text."""

UNREADABLE: Final = object()
"""Stands for a text that should have been JSON."""
REQUIRED: Final = "is required"
TEXT_TYPES: Final = frozenset(("string", "text", "uuid", "email", "url"))
_NUMBER_TYPES: Final = frozenset(("integer", "number"))
_MAX_LISTED: Final = 500
EXACT_JSON: Final = "json, whose numbers came as decimals"
"""The type of a json field of a shape that has decimals, too; see `shapes.reads_exactly`."""


def say_plainly(_rule: str, _limit: Any, text: str) -> str:
    """Return the usual text of a rule."""
    return text


def compile_rules(spec: Spec, say: Say = say_plainly) -> tuple[Rule, ...]:
    """Return the rules of a field that fit its type, in the order their messages appear.

    Raises:
        FlowError: the field's pattern is wrong.
    """
    rules = [*_number_rules(spec, say)] if spec["type"] in _NUMBER_TYPES else []
    if spec["type"] == "decimal":
        rules = [(fits, say("maximum", MOST_DIGITS, "has too many digits")), *_bounds(spec, say)]
    if spec["type"] in TEXT_TYPES or spec["type"] == "list":
        rules += _length_rules(spec, say)
    if spec["type"] in TEXT_TYPES and "pattern" in spec:
        rules.append(_pattern_rule(spec["pattern"], say))
    if "enum" in spec:
        rules.append(_enum_rule(spec["enum"], say))
    return tuple(rules)


def _number_rules(spec: Spec, say: Say) -> list[Rule]:
    return [(_fits, say("maximum", MAX_INTEGER, "is too large")), *_bounds(spec, say)]


def _bounds(spec: Spec, say: Say) -> list[Rule]:
    rules: list[Rule] = []
    written = exact if spec["type"] == "decimal" else _same
    if "minimum" in spec:
        least = written(spec["minimum"])
        text = say("minimum", least, f"must be at least {_shown(least)}")
        rules.append((lambda value: bool(value >= least), text))
    if "maximum" in spec:
        most = written(spec["maximum"])
        text = say("maximum", most, f"must be at most {_shown(most)}")
        rules.append((lambda value: bool(value <= most), text))
    return rules


def _length_rules(spec: Spec, say: Say) -> list[Rule]:
    word = "item" if spec["type"] == "list" else "character"
    rules: list[Rule] = []
    if "minLength" in spec:
        least = spec["minLength"]
        text = say("minLength", least, f"must have at least {_count(least, word)}")
        rules.append((lambda value: len(value) >= least, text))
    if "maxLength" in spec:
        most = spec["maxLength"]
        text = say("maxLength", most, f"must have at most {_count(most, word)}")
        rules.append((lambda value: len(value) <= most, text))
    return rules


def _pattern_rule(pattern: str, say: Say) -> Rule:
    compile_pattern(pattern)

    def holds(value: str) -> bool:
        try:
            return has_match(pattern, value)
        except FlowError:  # a text too long for the pattern does not have its form either
            return False

    return holds, say("pattern", pattern, "has the wrong form")


def _enum_rule(allowed: list[Any], say: Say) -> Rule:
    listed = ", ".join(map(_shown, allowed))
    short = listed if len(listed) <= _MAX_LISTED else f"{listed[:_MAX_LISTED]}…"
    text = say("enum", allowed, f"must be one of: {short}")
    return (lambda value: operators.is_in(value, allowed)), text


def _same(value: Any) -> Any:
    return value


def _shown(value: Any) -> str:
    if type(value) is Decimal:
        return format(value, "f")
    return value if type(value) is str else write_json(value)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _fits(value: float) -> bool:
    return type(value) is float or MIN_INTEGER <= value <= MAX_INTEGER


def _text(value: Any) -> Any:
    return value if type(value) is str and formats.is_sound(value) else NOTHING


def _integer(value: Any) -> Any:
    if type(value) is int:
        return value
    if type(value) is Decimal:
        value = float(value)
    return int(value) if type(value) is float and value.is_integer() else NOTHING


def _number(value: Any) -> Any:
    if type(value) is Decimal:
        value = float(value)
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return value
    return NOTHING


def _boolean(value: Any) -> Any:
    return value if type(value) is bool else NOTHING


def _datetime(value: Any) -> Any:
    if type(value) is datetime and value.tzinfo is not None:
        return value.astimezone(UTC)
    return _parsed(times.parse_datetime, value)


def _date(value: Any) -> Any:
    return value if type(value) is date else _parsed(times.parse_date, value)


def _uuid(value: Any) -> Any:
    return _parsed(formats.parse_uuid, value)


def _email(value: Any) -> Any:
    return value if _text(value) is value and formats.is_email(value) else NOTHING


def _url(value: Any) -> Any:
    return value if _text(value) is value and formats.is_url(value) else NOTHING


def _json(value: Any) -> Any:
    return NOTHING if value is UNREADABLE else value


def _exact_json(value: Any) -> Any:
    try:
        return NOTHING if value is UNREADABLE else inexact(value)
    except OverflowError:
        return NOTHING


def _map(value: Any) -> Any:
    return value if type(value) is dict else NOTHING


def _parsed(parse: Callable[[str], Any], value: Any) -> Any:
    parsed = parse(value) if type(value) is str else None
    return NOTHING if parsed is None else parsed


SCALARS: Final[dict[str, tuple[Convert, str]]] = {
    "string": (_text, "must be text"),
    "text": (_text, "must be text"),
    "integer": (_integer, "must be a whole number"),
    "number": (_number, "must be a number"),
    "decimal": (parse_decimal, "must be a decimal number such as 12.50"),
    "boolean": (_boolean, "must be true or false"),
    "datetime": (_datetime, "must be a date and time such as 2026-03-05T10:00:00Z"),
    "date": (_date, "must be a date such as 2026-03-05"),
    "uuid": (_uuid, "must be a UUID"),
    "email": (_email, "must be an email address"),
    "url": (_url, "must be a URL that begins with https:// or http://"),
    "json": (_json, "must be JSON"),
    EXACT_JSON: (_exact_json, "must be JSON"),
    "object": (_map, "must be an object"),
}
"""Every type without parts of its own: how a value becomes it, and what to say otherwise."""
