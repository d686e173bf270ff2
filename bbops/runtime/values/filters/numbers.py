"""Filters over numbers, and what turns text into numbers and booleans."""

from __future__ import annotations

import decimal
import math
import re
from decimal import Decimal
from typing import Any, Final

from bbops.runtime.values.failures import BadValue, WrongKind
from bbops.runtime.values.filters._registry import (
    Arrow,
    add_filter,
    need_integer,
    need_number,
    need_text,
    refused,
)
from bbops.runtime.values.filters.lists import extreme
from bbops.runtime.values.values import MAX_INTEGER, MIN_INTEGER, bounded_number

_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_MAX_DIGITS: Final = 400
_FEW_DIGITS: Final = 19
_BOOLEANS: Final = {"true": True, "false": False}
_PATTERN: Final = re.compile(r"(?P<whole>0,000|0{1,30})(?:\.(?P<places>0{1,18}))?")
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
    raise WrongKind(refused("toBoolean", "text", value))


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


@add_filter("divide", ("10 | divide(3, 2) | toString", "3.33"), takes="number", gives="number")
def divide(value: Any, by: Any, places: Any) -> Decimal:
    """The quotient as a decimal with so many places, halves away from zero."""
    of, divisor = _ratio(value), _ratio(by)
    count = need_integer(places, "divide")
    if not 0 <= count <= 18:
        raise BadValue(f"'divide' takes 0 to 18 places, found {count}")
    above, below = of[0] * divisor[1], of[1] * divisor[0]
    if below == 0:
        raise BadValue("division by zero")
    whole = (2 * abs(above) * 10**count + abs(below)) // (2 * abs(below))
    sign = "-" if (above < 0) != (below < 0) else ""
    return Decimal(f"{sign}{whole}e-{count}")


def _ratio(value: Any) -> tuple[int, int]:
    """Return a number by its shortest decimal form, as two whole numbers."""
    number = need_number(value, "divide")
    exact = Decimal(repr(number)) if type(number) is float else Decimal(number)
    return exact.as_integer_ratio()


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


@add_filter("min", ("7 | min(5)", 5), takes="number list", gives="same")
def smaller(value: Any, other: Arrow | float | None = None) -> Any:
    """The smaller of two numbers; of a list its least member, or the least that an arrow gives."""
    if type(value) is list and (other is None or callable(other)):
        return extreme(value, other, "min")
    return min(need_number(value, "min"), need_number(other, "min"))


@add_filter("max", ("7 | max(5)", 7), takes="number list", gives="same")
def larger(value: Any, other: Arrow | float | None = None) -> Any:
    """The larger of two numbers; of a list its largest, or the largest that an arrow gives."""
    if type(value) is list and (other is None or callable(other)):
        return extreme(value, other, "max")
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


@add_filter("format", ("1234567.891 | format('0,000.00')", "1,234,567.89"), takes="number",
            gives="text")  # fmt: skip
def formatted(value: Any, pattern: Any) -> str:
    """The number as people read it: '0.00' has two places, '0,000' groups of three digits."""
    number, wanted = need_number(value, "format"), need_text(pattern, "format")
    found = _PATTERN.fullmatch(wanted)
    if found is None:
        raise BadValue(
            f"'{wanted[:40]}' is no pattern of 'format': write '0', '0.00', '0,000' or '0,000.00'",
            said="is not a pattern such as '0,000.00'",
        )
    whole, places = found["whole"], len(found["places"] or "")
    exact = Decimal(repr(number)) if type(number) is float else Decimal(number)
    rounded = exact.quantize(Decimal(1).scaleb(-places), context=_ROUND)
    digits, _, behind = f"{abs(rounded):f}".partition(".")
    digits = digits.zfill(len(whole.replace(",", "")) if "," not in whole else 1)
    if "," in whole:
        digits = f"{int(digits):,}"
    sign = "-" if rounded < 0 else ""
    return f"{sign}{digits}.{behind}" if behind else f"{sign}{digits}"
