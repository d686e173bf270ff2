"""Filters over lists that ask an arrow function about each member."""

from __future__ import annotations

from typing import Any

from bbops.runtime.values import operators
from bbops.runtime.values.failures import WrongKind
from bbops.runtime.values.filters._registry import (
    Arrow,
    add_filter,
    asked,
    asking,
    need_list,
    need_map,
    refused,
)
from bbops.runtime.values.filters.lists import identity
from bbops.runtime.values.values import check_count, check_size, paid

_MAX_WEIGHT = 2_000_000


@add_filter("map", ("[1, 2] | map(n => n * 10)", [10, 20]), takes="list", gives="list")
def map_members(value: Any, make: Arrow) -> list[Any]:
    """What the arrow function makes of each member."""
    return paid(asked(need_list(value, "map"), make))


@add_filter("filter", ("[1, 2, 3] | filter(n => n > 1)", [2, 3]), takes="list", gives="same")
def filter_members(value: Any, keep: Arrow) -> list[Any]:
    """The members for which the condition holds."""
    members = need_list(value, "filter")
    found = zip(members, asked(members, keep), strict=True)
    return paid([member for member, holds in found if operators.truth(holds)])


@add_filter("flatMap", ("[1, 2] | flatMap(n => [n, n])", [1, 1, 2, 2]), takes="list", gives="list")
def flat_map(value: Any, make: Arrow) -> list[Any]:
    """The members of the lists that the arrow function makes, as one list."""
    out: list[Any] = []
    for found in asked(need_list(value, "flatMap"), make):
        part = need_list(found, "flatMap")
        check_count(len(out) + len(part))
        out += part
    return out


@add_filter("some", ("[1, 2] | some(n => n > 1)", True), takes="list", gives="boolean")
def some(value: Any, test: Arrow) -> bool:
    """Whether the condition holds for at least one member."""
    members = asking(need_list(value, "some"), test)
    return any(operators.truth(found) for _, found in members)


@add_filter("every", ("[1, 2] | every(n => n > 1)", False), takes="list", gives="boolean")
def every(value: Any, test: Arrow) -> bool:
    """Whether the condition holds for all members; true of an empty list."""
    members = asking(need_list(value, "every"), test)
    return all(operators.truth(found) for _, found in members)


@add_filter(
    "groupBy",
    ("[1, 2, 3] | groupBy(n => n % 2)", [{"key": 1, "rows": [1, 3]}, {"key": 0, "rows": [2]}]),
    takes="list", gives="list",
)  # fmt: skip
def group_by(value: Any, key: Arrow) -> list[Any]:
    """A list of `{key, rows}`: the members of each key, in order of appearance."""
    groups: dict[Any, dict[str, Any]] = {}
    members = need_list(value, "groupBy")
    keys = asked(members, key)
    check_size(keys, _MAX_WEIGHT)
    for member, found in zip(members, keys, strict=True):
        group = groups.setdefault(identity(found, "groupBy"), {"key": found, "rows": []})
        group["rows"].append(member)
    return paid(list(groups.values()))


@add_filter(
    "toMap",
    ("['a', 'b'] | toMap(t => t, t => t | upper)", {"a": "A", "b": "B"}),
    takes="list", gives="map",
)  # fmt: skip
def to_map(value: Any, key: Arrow, make: Arrow | None = None) -> dict[str, Any]:
    """A map of the members by a text or whole number; of two with the same key the later one."""
    members = need_list(value, "toMap")
    keys = [_key(found) for found in asked(members, key)]
    values = members if make is None else asked(members, make)
    return paid(dict(zip(keys, values, strict=True)))


@add_filter(
    "entries",
    ("""'{"a": 1}' | parseJson | entries""", [{"key": "a", "value": 1}]),
    takes="map", gives="list",
)  # fmt: skip
def entries(value: Any) -> list[Any]:
    """A list of `{key, value}` of a map."""
    return paid([{"key": key, "value": one} for key, one in need_map(value, "entries").items()])


def _key(value: Any) -> str:
    if type(value) is str or type(value) is int:
        return str(value)
    raise WrongKind(refused("toMap", "a text or whole number as key", value))
