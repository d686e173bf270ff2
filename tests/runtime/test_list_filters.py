"""Filters over lists, maps and JSON: order, identity and size."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.runtime.values.failures import FlowError
from tests.support.filter_examples import NOON, apply


def bomb() -> list[Any]:
    value: list[Any] = []
    for _ in range(60):
        value = [value, value]
    return value


@given(st.lists(st.integers() | st.none()) | st.lists(st.text() | st.none()))
def test_sorting_puts_null_last_in_both_directions(members: list[Any]) -> None:
    known = sorted(member for member in members if member is not None)
    nulls = [None] * members.count(None)
    assert apply("sort", members) == known + nulls
    assert apply("sort", members, None, "desc") == known[::-1] + nulls


@given(st.lists(st.fixed_dictionaries({"k": st.integers(0, 3), "n": st.integers()})))
def test_sorting_by_a_field_keeps_the_order_of_equals(members: list[dict[str, int]]) -> None:
    assert apply("sort", members, "k") == sorted(members, key=lambda member: member["k"])
    assert apply("sort", members, "k", "desc") == sorted(members, key=lambda member: -member["k"])


def test_text_sorts_by_code_point() -> None:
    assert apply("sort", ["ä", "b", "B", "a"]) == ["B", "a", "b", "ä"]


@pytest.mark.parametrize("members", [[1, "a"], [True, 1], [[1], [2]], [{"a": 1}]])
def test_members_without_an_order_are_refused(members: list[Any]) -> None:
    with pytest.raises(FlowError, match="'sort'"):
        apply("sort", members)


def test_sorting_needs_a_direction_it_knows() -> None:
    with pytest.raises(FlowError, match="'asc' or 'desc'"):
        apply("sort", [1], None, "down")


def test_unique_keeps_the_first_of_equals_and_tells_kinds_apart() -> None:
    members = [1, True, "1", 1.0, None, [1], [1.0], [True], {"a": 1}, {"a": 1}, None]
    assert apply("unique", members) == [1, True, "1", None, [1], [True], {"a": 1}]


def test_first_and_last_of_nothing_are_null() -> None:
    assert apply("first", []) is None
    assert apply("last", []) is None


def test_pluck_gives_null_for_a_missing_field() -> None:
    assert apply("pluck", [{"a": 1}, {}], "a") == [1, None]


def test_has_tells_absent_from_null() -> None:
    assert apply("has", {"a": None}, "a")
    assert not apply("has", {}, "a")
    assert not apply("has", None, "a")


def test_pick_and_omit_take_names_or_a_list_of_names() -> None:
    row = {"a": 1, "b": 2, "c": 3}
    assert apply("pick", row, "a", "b") == apply("pick", row, ["a", "b"]) == {"a": 1, "b": 2}
    assert apply("omit", row, "a", "b") == apply("omit", row, ["a", "b"]) == {"c": 3}


def test_a_map_filter_leaves_its_input_alone() -> None:
    row = {"a": 1}
    apply("merge", row, {"a": 2})
    apply("sort", members := [2, 1])
    assert row == {"a": 1}
    assert members == [2, 1]


@pytest.mark.parametrize("name", ["json", "unique"])
def test_a_value_that_unfolds_without_end_is_refused(name: str) -> None:
    with pytest.raises(FlowError, match="too large"):
        apply(name, bomb())


def test_json_counts_text_that_is_used_again_and_again() -> None:
    with pytest.raises(FlowError, match="too large"):
        apply("json", ["x" * 1_000] * 90_000)


def test_json_writes_every_kind() -> None:
    row = {"at": NOON, "on": date(2026, 3, 5), "sum": Decimal("1.50"), "no": None, "ok": True}
    assert apply("json", row) == (
        '{"at":"2026-03-05T12:00:00Z","on":"2026-03-05","sum":"1.50","no":null,"ok":true}'
    )


@pytest.mark.parametrize("text", ["", "{", "NaN", "1e999", "[" * 100_000, "'a'", "\ud800"])
def test_bad_json_is_refused(text: str) -> None:
    with pytest.raises(FlowError):
        apply("parseJson", text)
