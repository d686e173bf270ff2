"""Filters over lists."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from bbops.runtime.values import operators
from bbops.runtime.values.failures import BadValue
from bbops.runtime.values.filters._registry import add_filter, need_list, need_text
from bbops.runtime.values.values import MAX_TEXT, NUMBERS, check_length, check_size, kind, paid

_SORTED: Final = frozenset(("text", "number", "datetime", "date", "boolean"))
# Sorting compares, and `unique` freezes, whole members: this bounds their total size.
_MAX_WEIGHT: Final = 2_000_000


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
def first(value: Any) -> Any:
    """The first member, null when the list is empty."""
    members = need_list(value, "first")
    return members[0] if members else None


@add_filter(
    "last",
    ("[1, 2] | last", 2),
    takes="list",
    gives="item",
)
def last(value: Any) -> Any:
    """The last member, null when the list is empty."""
    members = need_list(value, "last")
    return members[-1] if members else None


@add_filter(
    "sort",
    ("['b', 'c', 'a'] | sort(null, 'desc')", ["c", "b", "a"]),
    takes="list",
    gives="same",
)
def sort(value: Any, field: Any = None, direction: Any = "asc") -> list[Any]:
    """The list in order, by a field of its members if one is named; null comes last."""
    if direction not in ("asc", "desc"):
        raise BadValue("the direction of 'sort' is 'asc' or 'desc'")
    keyed = [(_sort_key(member, field), member) for member in need_list(value, "sort")]
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
def unique(value: Any) -> list[Any]:
    """The list without members that came before."""
    members = need_list(value, "unique")
    check_size(members, _MAX_WEIGHT)
    seen: dict[Hashable, Any] = {}
    try:
        for member in members:
            seen.setdefault(_identity(member), member)
    except RecursionError:
        raise BadValue("a member is nested too deeply for 'unique'") from None
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


def _sort_key(member: Any, field: Any) -> Any:
    return member if field is None else operators.get_optional(member, need_text(field, "sort"))


def _by_key(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _check_sortable(keys: list[Any]) -> None:
    check_size(keys, _MAX_WEIGHT)
    kinds = {"number" if type(key) in NUMBERS else kind(key) for key in keys}
    if len(kinds) > 1:
        raise BadValue(f"'sort' needs members of one kind, found {' and '.join(sorted(kinds))}")
    if not kinds <= _SORTED:
        raise BadValue(f"'sort' cannot order {kinds.pop()} values: name one of their fields")


def _identity(value: Any) -> Hashable:
    if type(value) is list:
        return "list", tuple(_identity(member) for member in value)
    if type(value) is dict:
        return "map", frozenset((key, _identity(item)) for key, item in value.items())
    return "number" if type(value) in NUMBERS else kind(value), value
