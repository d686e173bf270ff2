"""Filters over lists."""

from __future__ import annotations

import operator
from collections.abc import Hashable
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import reduce
from typing import Any, Final

from bbops.runtime.values import operators
from bbops.runtime.values.failures import BadValue
from bbops.runtime.values.filters._registry import (
    Arrow,
    add_filter,
    asked,
    asking,
    need_integer,
    need_list,
    need_number,
    need_text,
)
from bbops.runtime.values.values import (
    MAX_TEXT,
    NUMBERS,
    bounded_number,
    check_count,
    check_length,
    check_size,
    kind,
    paid,
)

_SORTED: Final = frozenset(("text", "number", "datetime", "date", "boolean"))
# Sorting compares, and `unique` freezes, whole members: this bounds their total size.
_MAX_WEIGHT: Final = 2_000_000
_PLAIN: Final = {int, float}
_EXACT: Final = Context(prec=400)
_ROUNDED: Final = Context(prec=400, rounding=ROUND_HALF_UP)
_PLACES: Final = Decimal("0.000001")


@add_filter(
    "join",
    ("['a', 'b'] | join(', ')", "a, b"),
    takes="list",
    gives="text",
)
def join(value: Any, separator: Any) -> str:
    """The members as one text, with a separator between them."""
    members, mark = need_list(value, "join"), need_text(separator, "join")
    total = -len(mark)
    texts = []
    for member in members:
        texts.append(operators.text(member))
        total += len(texts[-1]) + len(mark)
        if total > MAX_TEXT:
            break
    check_length(total)
    return mark.join(texts)


@add_filter(
    "first",
    ("[1, 2] | first", 1),
    takes="list",
    gives="item",
)
def first(value: Any, test: Arrow | None = None) -> Any:
    """The first member, or the first for which a condition holds; null where there is none."""
    members = need_list(value, "first")
    if test is None:
        return members[0] if members else None
    return next((one for one, found in asking(members, test) if operators.truth(found)), None)


@add_filter(
    "last",
    ("[1, 2] | last", 2),
    takes="list",
    gives="item",
)
def last(value: Any, test: Arrow | None = None) -> Any:
    """The last member, or the last for which a condition holds; null where there is none."""
    members = need_list(value, "last")
    if test is None:
        return members[-1] if members else None
    found = None
    for one, holds in zip(members, asked(members, test), strict=True):
        found = one if operators.truth(holds) else found
    return found


@add_filter(
    "sort",
    ("['b', 'c', 'a'] | sort(null, 'desc')", ["c", "b", "a"]),
    takes="list",
    gives="same",
)
def sort(value: Any, field: Arrow | str | None = None, direction: Any = "asc") -> list[Any]:
    """The list in order, by what an arrow function gives or by a field's name; null comes last."""
    if direction not in ("asc", "desc"):
        raise BadValue("the direction of 'sort' is 'asc' or 'desc'")
    keyed = [(key, member) for member, key in _sort_keys(need_list(value, "sort"), field)]
    known = [pair for pair in keyed if pair[0] is not None]
    _check_sortable([key for key, _ in known])
    known.sort(key=_by_key, reverse=direction == "desc")
    return paid([member for _, member in known] + [m for key, m in keyed if key is None])


@add_filter(
    "unique",
    ("[1, 2, 1] | unique", [1, 2]),
    takes="list",
    gives="same",
)
def unique(value: Any, key: Arrow | None = None) -> list[Any]:
    """The list without members that came before, or whose key of an arrow function did."""
    members = need_list(value, "unique")
    keys = members if key is None else asked(members, key)
    check_size(keys, _MAX_WEIGHT)
    seen: dict[Hashable, Any] = {}
    for member, found in zip(members, keys, strict=True):
        seen.setdefault(identity(found, "unique"), member)
    return paid(list(seen.values()))


@add_filter(
    "pluck",
    ("""'[{"a": 1}, {"a": 2}]' | parseJson | pluck('a')""", [1, 2]),
    takes="list",
    gives="list",
)
def pluck(value: Any, field: Any) -> list[Any]:
    """The field of that name of every member."""
    name = need_text(field, "pluck")
    return paid([operators.get(member, name) for member in need_list(value, "pluck")])


@add_filter(
    "sum",
    ("[1, 2.5] | sum", 3.5),
    takes="list",
    gives="number",
)
def total(value: Any, number: Arrow | None = None) -> Any:
    """The sum of numbers, or of what an arrow function gives; 0 of an empty list."""
    return _added(_numbers(value, number, "sum"))


@add_filter(
    "avg",
    ("[1, 2] | avg", 1.5),
    takes="list",
    gives="number",
)
def average(value: Any, number: Arrow | None = None) -> Any:
    """The average of numbers, null of an empty list; of decimals with 6 places."""
    numbers = _numbers(value, number, "avg")
    if not numbers:
        return None
    out = _added(numbers)
    if type(out) is not Decimal:
        return operators.div(out, len(numbers))
    return _EXACT.divide(out, Decimal(len(numbers))).quantize(_PLACES, context=_ROUNDED)


@add_filter(
    "zip",
    ("[1, 2] | zip(['a', 'b'])", [{"left": 1, "right": "a"}, {"left": 2, "right": "b"}]),
    takes="list",
    gives="list",
)
def zipped(value: Any, other: Any) -> list[Any]:
    """A list of `{left, right}`: members of two lists side by side, as many as the shorter has."""
    pairs = zip(need_list(value, "zip"), need_list(other, "zip"), strict=False)
    return paid([{"left": left, "right": right} for left, right in pairs])


@add_filter(
    "flatten",
    ("[[1], [2, 3]] | flatten", [1, 2, 3]),
    takes="list",
    gives="list",
)
def flatten(value: Any) -> list[Any]:
    """The members of the lists in a list, as one list."""
    out: list[Any] = []
    for member in need_list(value, "flatten"):
        part = need_list(member, "flatten")
        check_count(len(out) + len(part))
        out += part
    return out


@add_filter(
    "chunk",
    ("[1, 2, 3] | chunk(2)", [[1, 2], [3]]),
    takes="list",
    gives="list",
)
def chunk(value: Any, size: Any) -> list[Any]:
    """Lists of so many members; the last one may have fewer."""
    members, most = need_list(value, "chunk"), need_integer(size, "chunk")
    if most < 1:
        raise BadValue(f"'chunk' needs 1 member or more, found {most}")
    return paid([members[at : at + most] for at in range(0, len(members), most)])


def extreme(value: Any, key: Arrow | None, name: str) -> Any:
    """Return the least or most ('min', 'max') of a list's members, null where there is none."""
    members = need_list(value, name)
    found = members if key is None else asked(members, key)
    known = [one for one in found if one is not None]
    _check_sortable(known, name)
    return (min(known) if name == "min" else max(known)) if known else None


def _numbers(value: Any, number: Arrow | None, name: str) -> list[Any]:
    members = need_list(value, name)
    found = members if number is None else asked(members, number)
    if set(map(type, found)) <= _PLAIN:
        return found
    return [need_number(one, name) for one in found]


def _added(numbers: list[Any]) -> Any:
    if set(map(type, numbers)) <= _PLAIN:
        return bounded_number(reduce(operator.add, numbers, 0))
    return reduce(operators.add, numbers, 0)


def _sort_keys(members: list[Any], field: Arrow | str | None) -> list[tuple[Any, Any]]:
    if field is None:
        return [(one, one) for one in members]
    if callable(field):
        return list(zip(members, asked(members, field), strict=True))
    name = need_text(field, "sort")
    return [(one, operators.get_optional(one, name)) for one in members]


def _by_key(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _check_sortable(keys: list[Any], name: str = "sort") -> None:
    check_size(keys, _MAX_WEIGHT)
    kinds = {"number" if type(key) in NUMBERS else kind(key) for key in keys}
    if len(kinds) > 1:
        raise BadValue(f"'{name}' needs members of one kind, found {' and '.join(sorted(kinds))}")
    if not kinds <= _SORTED:
        raise BadValue(f"'{name}' cannot order {kinds.pop()} values: name one of their fields")


def identity(value: Any, name: str) -> Hashable:
    """Return what two values share that are equal. Raises: BadValue: nested too deeply."""
    try:
        return _identity(value)
    except RecursionError:
        raise BadValue(f"a member is nested too deeply for '{name}'") from None


def _identity(value: Any) -> Hashable:
    if type(value) is list:
        return "list", tuple(_identity(member) for member in value)
    if type(value) is dict:
        return "map", frozenset((key, _identity(item)) for key, item in value.items())
    return "number" if type(value) in NUMBERS else kind(value), value
