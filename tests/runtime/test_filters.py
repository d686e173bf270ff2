"""Every filter and function: its example, its kinds, and that nothing else gets out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.filters import FILTERS, FUNCTIONS
from tests.support.filter_examples import NOON, apply, run

EVERY_KIND: list[Any] = [
    None, True, 1, 1.5, Decimal("1.5"), "a", NOON, date(2026, 3, 5), b"a", [1], {"a": 1},
    [None], [[]], [{}], "", [], {}, -(2**63), 1e308, Decimal("1E+9999"), "\ud800", 10**400,
]  # fmt: skip
WORD = {
    "text": "x", "number": 1, "integer": 1, "list": [], "map": {}, "boolean": True,
    "datetime": NOON, "date": date(2026, 3, 5), "bytes": b"x",
}  # fmt: skip
GIVEN = {"text": str, "integer": int, "list": list, "map": dict, "boolean": bool}


class Host:
    """A host with a stopped clock and no luck."""

    @property
    def clock(self) -> Host:
        return self

    @property
    def random(self) -> Host:
        return self

    def now(self) -> datetime:
        return NOON

    def uuid(self) -> str:
        return "00000000-0000-4000-8000-000000000000"

    def token(self, length: int) -> str:
        return "a" * length

    def integer(self, low: int, high: int) -> int:
        return low


def tried(call: Callable[..., Any], *arguments: Any) -> FlowError | None:
    """Return the FlowError of a call; any other exception fails the test."""
    try:
        call(*arguments)
    except FlowError as error:
        return error
    return None


WITHOUT_ARROWS = [name for name, one in FILTERS.items() if "=>" not in one.example[0]]
"""The others need the compiler: see test_filters_through_the_compiler."""


@pytest.mark.parametrize("name", WITHOUT_ARROWS)
def test_a_filter_does_what_its_example_says(name: str) -> None:
    expression, expected = FILTERS[name].example
    result = run(expression)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_does_what_its_example_says(name: str) -> None:
    expression, expected = FUNCTIONS[name].example
    assert run(expression, Host()) == expected


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_has_a_summary_and_its_name_in_its_example(name: str) -> None:
    assert FILTERS[name].summary.endswith(".")
    assert f"| {name}" in FILTERS[name].example[0]


def test_every_filter_and_function_of_the_language_is_here() -> None:
    assert set(FILTERS) == {
        "toNumber", "toBoolean", "toDatetime", "toString", "default", "length", "lower", "upper",
        "trim", "slice", "replace", "split", "join", "contains", "startsWith", "endsWith",
        "matches", "slugify", "first", "last", "sort", "unique", "pluck", "round", "floor",
        "ceil", "abs", "min", "max", "clamp", "date", "add", "startOf", "has", "omit", "pick",
        "merge", "json", "parseJson", "base64", "base64Decode", "sha256", "hmac", "urlEncode",
        "escapeHtml", "map", "filter", "flatMap", "some", "every", "groupBy", "toMap", "entries",
        "zip", "flatten", "chunk", "sum", "avg", "findAll", "replaceAll", "format",
        "difference", "divide", "seconds", "minutes", "hours", "days", "weeks",
    }  # fmt: skip
    assert set(FUNCTIONS) == {"now", "uuid", "randomToken", "random", "range"}


@pytest.mark.parametrize("name", FILTERS)
def test_null_is_refused_where_a_filter_does_not_take_it(name: str) -> None:
    arguments = ["x"] * FILTERS[name].least
    if FILTERS[name].accepts_null:
        FILTERS[name].apply(None, *arguments)
    else:
        with pytest.raises(FlowError):
            FILTERS[name].apply(None, *arguments)


def test_a_refused_null_points_to_default() -> None:
    with pytest.raises(FlowError, match=r"^'lower' needs text, found null: add '\| default\(…\)'"):
        apply("lower", None)


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_gives_a_value_or_a_flow_error_whatever_it_is_given(name: str) -> None:
    chosen = FILTERS[name]
    for value in EVERY_KIND:
        for argument in EVERY_KIND:
            for count in range(chosen.least, min(chosen.most, 2) + 1):
                error = tried(chosen.apply, value, *[argument] * count)
                assert error is None or not error.message.endswith(".")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_a_value_or_a_flow_error_whatever_it_is_given(name: str) -> None:
    function = FUNCTIONS[name]
    for argument in EVERY_KIND:
        hidden = [Host()] if function.needs_host else []
        tried(function.apply, *hidden, *[argument] * function.most)


@pytest.mark.parametrize("name", sorted(set(FILTERS) - {"default", "json", "has"}))
def test_a_filter_refuses_kinds_it_does_not_name(name: str) -> None:
    chosen = FILTERS[name]
    taken = chosen.takes.replace("number", "number integer").split()
    for word in set(WORD) - set(taken):
        with pytest.raises(FlowError):
            chosen.apply(WORD[word], *["x"] * chosen.least)


def test_a_range_is_bounded_and_never_negative() -> None:
    count_up = FUNCTIONS["range"].apply
    assert count_up(-1) == []
    for count in (100_001, 2**62):
        with pytest.raises(FlowError, match="too long"):
            count_up(count)
    with pytest.raises(FlowError, match=r"found 2\.5: add '\| floor'"):
        count_up(2.5)


def test_chance_is_bounded() -> None:
    with pytest.raises(FlowError, match="1 to 1000 characters"):
        FUNCTIONS["randomToken"].apply(Host(), 1_001)
    with pytest.raises(FlowError, match="lower end first"):
        FUNCTIONS["random"].apply(Host(), 2, 1)
