"""Filters over numbers, and what turns text into numbers and booleans."""

from __future__ import annotations

import decimal
import math
import re
from decimal import Decimal
from typing import Any, Final

from bbops.runtime.values.failures import BadValue, FlowError
from bbops.runtime.values.filters._registry import add_filter, need_integer, need_number, refused
from bbops.runtime.values.values import MAX_INTEGER, MIN_INTEGER, bounded_number

_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_MAX_DIGITS: Final = 400
_FEW_DIGITS: Final = 19
_BOOLEANS: Final = {"true": True, "false": False}
_ROUND: Final = decimal.Context(prec=400, rounding=decimal.ROUND_HALF_UP)


def parse_number(text: str) -> int | float | None:
    """Return a JSON number as int or float, None for other text and beyond 64 bits."""
    if len(text) < _FEW_DIGITS and text.isdigit() and text.isascii() and text[0] != "0":
        return int(text)  # what is nearly always asked, without a pattern
    if len(text) > _MAX_DIGITS or _NUMBER.fullmatch(text) is None:
        return None
    if text.lstrip("-").isdecimal():
        whole = int(text)
        return whole if MIN_INTEGER <= whole <= MAX_INTEGER else None
    number = float(text)
    return number if math.isfinite(number) else None


@add_filter(
    "toNumber",
    ("'42' | toNumber", 42),
    takes="text number",
    gives="number",
    accepts_null=True,
)
def to_number(value: Any) -> Any:
    """The number a text is in JSON, null for other text; integers stay integers."""
    if type(value) is str:
        return parse_number(value)
    if value is None:
        return None
    number = need_number(value, "toNumber")
    if type(number) is not Decimal:
        return number
    return bounded_number(int(number) if number == number.to_integral_value() else float(number))


@add_filter(
    "toBoolean",
    ("'true' | toBoolean", True),
    takes="text boolean",
    gives="boolean",
)
def to_boolean(value: Any) -> bool | None:
    """The boolean a text is in JSON ('true' or 'false'), null for other text."""
    if type(value) is str:
        return _BOOLEANS.get(value)
    if value is True or value is False:
        return bool(value)
    raise FlowError(refused("toBoolean", "text", value))


@add_filter(
    "round",
    ("2.345 | round(2)", 2.35),
    takes="number",
    gives="number",
)
def round_number(value: Any, places: Any = 0) -> Any:
    """The number rounded to so many places behind the point, halves away from zero."""
    number, digits = need_number(value, "round"), need_integer(places, "round")
    if not -18 <= digits <= 18:
        raise BadValue(f"'round' takes -18 to 18 places, found {digits}")
    # By its shortest decimal form, as people read it: 2.675 is not 2.67499999999999982.
    exact = Decimal(repr(number)) if type(number) is float else Decimal(number)
    rounded = exact.quantize(Decimal(1).scaleb(-digits), context=_ROUND)
    if type(number) is Decimal:
        return rounded if digits >= 0 else rounded.quantize(Decimal(1), context=_ROUND)
    whole = type(number) is int or digits <= 0
    return bounded_number(int(rounded) if whole else float(rounded))


@add_filter(
    "floor",
    ("-1.5 | floor", -2),
    takes="number",
    gives="integer",
)
def floor(value: Any) -> Any:
    """The next whole number down."""
    return bounded_number(math.floor(need_number(value, "floor")))


@add_filter("ceil", ("1.2 | ceil", 2), takes="number", gives="integer")
def ceil(value: Any) -> Any:
    """The next whole number up."""
    return bounded_number(math.ceil(need_number(value, "ceil")))


@add_filter("abs", ("-3 | abs", 3), takes="number", gives="same")
def absolute(value: Any) -> Any:
    """The number without its sign."""
    return bounded_number(abs(need_number(value, "abs")))


@add_filter("min", ("7 | min(5)", 5), takes="number", gives="same")
def smaller(value: Any, other: Any) -> Any:
    """The smaller of two numbers."""
    return min(need_number(value, "min"), need_number(other, "min"))


@add_filter("max", ("7 | max(5)", 7), takes="number", gives="same")
def larger(value: Any, other: Any) -> Any:
    """The larger of two numbers."""
    return max(need_number(value, "max"), need_number(other, "max"))


@add_filter(
    "clamp",
    ("500 | clamp(1, 100)", 100),
    takes="number",
    gives="same",
)
def clamp(value: Any, low: Any, high: Any) -> Any:
    """The number, or the nearer end of a range it lies outside of."""
    number, least, most = (need_number(part, "clamp") for part in (value, low, high))
    if least > most:
        raise BadValue("'clamp' needs its lower end first")
    return max(least, min(number, most))
