"""The operators of compiled expressions: plain functions that look at types, never at attributes.

Every one is bounded, and refuses with a FlowError its author understands.
"""

from __future__ import annotations

import decimal
import math
import operator
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import msgspec

from bbops.runtime.values.decimals import LOSSLESS, QUOTIENTS, exact
from bbops.runtime.values.failures import BadValue, WrongKind
from bbops.runtime.values.values import (
    NUMBERS,
    bounded_number,
    check_count,
    check_length,
    check_spent,
    kind,
)

__all__ = [
    "add",
    "blamed",
    "div",
    "eq",
    "ge",
    "get",
    "get_optional",
    "gt",
    "index",
    "is_in",
    "items",
    "join_text",
    "kind",
    "le",
    "look",
    "lt",
    "mod",
    "mul",
    "ne",
    "neg",
    "same",
    "sub",
    "text",
    "truth",
]

_PLAIN: Final = frozenset((int, float))
_EXACT: Final = frozenset((int, Decimal))
_ORDERED: Final = frozenset((int, float, Decimal, str, datetime, date))
_NESTED: Final = frozenset((list, dict))
_MAX_EXPONENT: Final = 999


# Looking into values


def get(value: Any, name: str) -> Any:
    """Return `value.name`: a map's item, null when the map has no such key."""
    if type(value) is dict:
        return value.get(name)
    if value is None:
        raise WrongKind(f"'{name}' of null: write '?.{name}' where the value may be null")
    raise WrongKind(f"'{name}' of a {kind(value)}: only a map has named items")


def get_optional(value: Any, name: str) -> Any:
    """Return `value?.name`: null when `value` is null, otherwise as `get`."""
    return None if value is None else get(value, name)


def look(value: Any, name: str) -> Any:
    """Return `.name` of a `json` value: null when there is no such key, or no map."""
    return value.get(name) if type(value) is dict else None


def index(value: Any, key: Any) -> Any:
    """Return `value[key]`: a list's member (negative from the end) or a map's item, else null."""
    if type(value) is list and type(key) is int:
        return value[key] if -len(value) <= key < len(value) else None
    if type(value) is dict and type(key) is str:
        return value.get(key)
    if type(value) in _NESTED:
        wanted = "a whole number" if type(value) is list else "text"
        raise WrongKind(f"a {kind(value)} takes {wanted} in '[…]', found {_described(key)}")
    raise WrongKind(f"'[…]' needs a list or a map, found {kind(value)}")


def items(value: Any) -> list[Any]:
    """Return what a loop walks: the list itself."""
    if type(value) is list:
        return value
    raise WrongKind(f"a loop walks a list, found {kind(value)}{_cure_null(value)}")


# Arithmetic


def add(left: Any, right: Any) -> Any:
    """Return `left + right` for two numbers, two texts or two lists."""
    ta, tb = type(left), type(right)
    if ta in _PLAIN and tb in _PLAIN:
        return _bounded(operator.add, left, right)
    if ta is str and tb is str:
        check_length(len(left) + len(right))
        return left + right
    if ta is list and tb is list:
        check_count(len(left) + len(right))
        return left + right
    return _exact(LOSSLESS.add, "+", left, right, "two numbers, two texts or two lists")


def sub(left: Any, right: Any) -> Any:
    """Return `left - right` for two numbers; two datetimes give seconds."""
    ta, tb = type(left), type(right)
    if ta in _PLAIN and tb in _PLAIN:
        return _bounded(operator.sub, left, right)
    if ta is datetime and tb is datetime:
        return (left - right).total_seconds()
    return _exact(LOSSLESS.subtract, "-", left, right, "two numbers or two datetimes")


def mul(left: Any, right: Any) -> Any:
    """Return `left * right` for two numbers."""
    if type(left) in _PLAIN and type(right) in _PLAIN:
        return _bounded(operator.mul, left, right)
    return _exact(LOSSLESS.multiply, "*", left, right)


def div(left: Any, right: Any) -> Any:
    """Return `left / right`: with a fraction, so `7 / 2` is 3.5 and `6 / 2` is 3.0."""
    _check_divisor(right)
    if type(left) in _PLAIN and type(right) in _PLAIN:
        return _bounded(operator.truediv, left, right)
    return _exact(QUOTIENTS.divide, "/", left, right)


def mod(left: Any, right: Any) -> Any:
    """Return what whole division leaves over, with the sign of `left`, as databases do."""
    _check_divisor(right)
    if type(left) is int and type(right) is int:
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    if type(left) in _PLAIN and type(right) in _PLAIN:
        return _bounded(math.fmod, left, right)
    return _exact(QUOTIENTS.remainder, "%", left, right)


def neg(value: Any) -> Any:
    """Return `-value` for a number."""
    if type(value) in NUMBERS:
        return sub(0, value)
    raise WrongKind(f"'-' needs a number, found {kind(value)}{_cure_null(value)}")


def blamed(field: str, apply: Callable[..., Any], *arguments: Any) -> Any:
    """Return what `apply` gives; where a value is bad, the request's `field` is named for it."""
    try:
        return apply(*arguments)
    except BadValue as error:
        error.blame(field)
        raise


# Comparison and logic


def eq(left: Any, right: Any) -> bool:
    """Return `left == right`; values of two kinds are never equal, and numbers are one kind."""
    ta, tb = type(left), type(right)
    if ta is tb:
        return same(left, right) if ta in _NESTED else bool(left == right)
    return ta in NUMBERS and tb in NUMBERS and _same_number(left, right)


def ne(left: Any, right: Any) -> bool:
    """Return `left != right`; values of two kinds always are."""
    return not eq(left, right)


def lt(left: Any, right: Any) -> bool:
    """Return `left < right` for two numbers, texts, datetimes or dates."""
    if type(left) is not type(right) or type(left) not in _ORDERED:
        left, right = _numbers(left, right, "<")
    return bool(left < right)


def le(left: Any, right: Any) -> bool:
    """Return `left <= right` for two numbers, texts, datetimes or dates."""
    if type(left) is not type(right) or type(left) not in _ORDERED:
        left, right = _numbers(left, right, "<=")
    return bool(left <= right)


def gt(left: Any, right: Any) -> bool:
    """Return `left > right` for two numbers, texts, datetimes or dates."""
    if type(left) is not type(right) or type(left) not in _ORDERED:
        left, right = _numbers(left, right, ">")
    return bool(left > right)


def ge(left: Any, right: Any) -> bool:
    """Return `left >= right` for two numbers, texts, datetimes or dates."""
    if type(left) is not type(right) or type(left) not in _ORDERED:
        left, right = _numbers(left, right, ">=")
    return bool(left >= right)


def is_in(value: Any, members: Any) -> bool:
    """Return `value in members` for a list; a member of another kind is another value."""
    if type(members) is not list:
        raise WrongKind(f"'in' needs a list, found {kind(members)}{_cure_null(members)}")
    found = type(value)
    if found in _NESTED:
        return _holds(members, value)
    if found in NUMBERS:
        return any(type(member) in NUMBERS and _same_number(member, value) for member in members)
    return any(member == value and type(member) is found for member in members)


def same(left: Any, right: Any) -> bool:
    """Return whether two values are equal all the way down; two kinds never are.

    Cost: one visit per node, at most MAX_NODES.
    """
    return _compare(left, right, 0)[0]


def _holds(members: list[Any], value: Any) -> bool:
    is_same, spent = False, 0
    for member in members:
        is_same, spent = _compare(value, member, spent)
        if is_same:
            break
    return is_same


def _compare(left: Any, right: Any, spent: int) -> tuple[bool, int]:
    """Return whether the values are the same, and how many nodes were visited up to now."""
    todo = [(left, right)]
    while todo:
        a, b = todo.pop()
        pairs = _pairs(a, b)
        if pairs is None:
            return False, spent
        spent += len(pairs)
        check_spent(spent)
        todo.extend(pairs)
    return True, spent


def truth(value: Any) -> bool:
    """Return a condition's value: only true and false are conditions."""
    if value is True or value is False:
        return bool(value)
    raise WrongKind(f"a condition must be true or false, found {kind(value)}")


# Text


def text(value: Any) -> str:
    """Return the value as it stands inside a longer text; null, lists and maps are refused."""
    if type(value) is str:
        return value
    write = _WRITERS.get(type(value))
    if write is None:
        raise WrongKind(_not_text(value))
    return write(value)


def join_text(*parts: Any) -> str:
    """Return a template's parts as one text, each as `text` gives it."""
    texts = [p if type(p) is str else text(p) for p in parts]
    check_length(sum(map(len, texts)))
    return "".join(texts)


def _write_decimal(value: Decimal) -> str:
    if abs(value.adjusted()) > _MAX_EXPONENT:
        raise BadValue("the number is too large to be written in digits")
    return format(value, "f")


def _write_datetime(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")


def _write_json(value: float | bool) -> str:
    return msgspec.json.encode(value).decode()


_WRITERS: Final[dict[type, Callable[[Any], str]]] = {
    bool: _write_json,
    int: lambda value: str(bounded_number(value)),
    float: _write_json,
    Decimal: _write_decimal,
    datetime: _write_datetime,
    date: date.isoformat,
}


def _not_text(value: Any) -> str:
    if value is None:
        return "null cannot be part of a text: add '| default(…)'"
    if type(value) is bytes:
        return "bytes cannot be part of a text: add '| base64'"
    return f"a {kind(value)} cannot be part of a text: add '| json'"


# What the operators share


def _bounded(compute: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    try:
        return bounded_number(compute(left, right))
    except OverflowError:  # a whole number from outside that no float can hold
        return bounded_number(math.inf)


def _exact(
    compute: Callable[[Any, Any], Any], sign: str, left: Any, right: Any, needs: str = "two numbers"
) -> Decimal:
    if type(left) not in _EXACT or type(right) not in _EXACT:
        raise WrongKind(_refused(sign, needs, left, right))
    try:
        result: Decimal = compute(left, right)
    except decimal.DecimalException:
        raise BadValue("the number is too large for a decimal") from None
    return result


def _check_divisor(right: Any) -> None:
    if type(right) in NUMBERS and right == 0:
        raise BadValue("division by zero")


def _same_number(left: Any, right: Any) -> bool:
    """Return whether two numbers are equal; beside a decimal one counts as it is written."""
    if type(left) is Decimal or type(right) is Decimal:
        left, right = exact(left), exact(right)
    return bool(left == right)


def _numbers(left: Any, right: Any, sign: str) -> tuple[Any, Any]:
    """Return two numbers as they are compared: beside a decimal one counts as it is written."""
    if type(left) not in NUMBERS or type(right) not in NUMBERS:
        raise WrongKind(_refused(sign, "two numbers, texts, datetimes or dates", left, right))
    if Decimal in {type(left), type(right)}:
        return exact(left), exact(right)
    return left, right


def _refused(sign: str, needs: str, left: Any, right: Any) -> str:
    found = f"'{sign}' needs {needs}, found {kind(left)} and {kind(right)}"
    if left is None or right is None:
        return f"{found}: add '| default(…)' to a value that may be null"
    if type(left) in NUMBERS and type(right) in NUMBERS:
        return f"{found}: add '| toNumber' to the decimal"
    return found


def _pairs(left: Any, right: Any) -> Sequence[tuple[Any, Any]] | None:
    """Return the pairs of members that must be the same too, or None for different values."""
    ta, tb = type(left), type(right)
    if left is right:
        return ()
    if ta is list and tb is list:
        return list(zip(left, right, strict=True)) if len(left) == len(right) else None
    if ta is dict and tb is dict:
        return [(left[k], right[k]) for k in left] if left.keys() == right.keys() else None
    if ta is tb:
        return () if left == right else None
    return () if ta in NUMBERS and tb in NUMBERS and _same_number(left, right) else None


def _cure_null(value: Any) -> str:
    return ": add '| default(…)' where it may be null" if value is None else ""


def _described(key: Any) -> str:
    return f"number {key}" if type(key) is float else kind(key)
