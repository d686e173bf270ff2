"""Operators: what they give, what they refuse, and that nothing grows without end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.runtime.values import operators as op
from bbops.runtime.values.failures import FlowError

YES, NO = True, False
NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)
VALUES: list[Any] = [
    None, True, 1, 1.5, Decimal("1.5"), "a", NOON, date(2026, 3, 5), b"a", [1], {"a": 1},
]  # fmt: skip
integers = st.integers(-(2**63), 2**63 - 1)


def bomb(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    "name", ["__class__", "__init__", "__mro__", "get", "items", "keys", "append", "real"]
)
def test_a_name_reads_map_keys_and_never_attributes(name: str) -> None:
    assert op.get({"a": 1}, name) is None
    assert op.look([1], name) is None
    assert op.look("text", name) is None
    assert op.index({"a": 1}, name) is None


def test_a_key_that_hides_a_method_is_read_as_data() -> None:
    assert op.get({"items": [1]}, "items") == [1]


def test_a_name_of_null_points_to_the_optional_dot() -> None:
    with pytest.raises(FlowError, match=r"^'title' of null: write '\?\.title'"):
        op.get(None, "title")


@pytest.mark.parametrize("value", ["text", 1, [1], True, NOON])
def test_a_name_of_anything_but_a_map_is_refused(value: Any) -> None:
    with pytest.raises(FlowError, match="only a map has named items"):
        op.get(value, "title")
    with pytest.raises(FlowError, match="only a map has named items"):
        op.get_optional(value, "title")


def test_the_optional_dot_passes_null_on() -> None:
    assert op.get_optional(None, "title") is None
    assert op.get_optional({"title": "x"}, "title") == "x"


def test_json_lookups_never_fail() -> None:
    assert op.look(None, "a") is None
    assert op.look({"a": {"b": 1}}, "a") == {"b": 1}


def test_positions_count_from_both_ends_and_end_in_null() -> None:
    letters = ["a", "b", "c"]
    assert [op.index(letters, place) for place in (0, -1, 3, -4, 2**70)] == [
        "a", "c", None, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "key"), [(None, 0), ("abc", 0), ([1], "0"), ([1], True), ({"1": 1}, 1), ([1], 0.5)]
)
def test_other_positions_are_refused(value: Any, key: Any) -> None:
    with pytest.raises(FlowError):
        op.index(value, key)


def test_addition_joins_texts_and_lists() -> None:
    assert op.add("a", "b") == "ab"
    assert op.add([1], [2]) == [1, 2]
    assert op.add(1, 2.5) == 3.5


def test_decimals_stay_exact_with_whole_numbers() -> None:
    assert op.add(Decimal("0.10"), Decimal("0.20")) == Decimal("0.30")
    assert op.mul(Decimal("19.99"), 3) == Decimal("59.97")
    assert op.div(1, Decimal(8)) == Decimal("0.125")


def test_a_decimal_does_not_mix_with_a_float() -> None:
    with pytest.raises(FlowError, match=r"found decimal and number: add '\| toNumber'"):
        op.add(Decimal(1), 1.5)


def test_datetimes_subtract_to_seconds() -> None:
    assert op.sub(NOON, datetime(2026, 3, 5, 11, 59, 30, tzinfo=UTC)) == 30.0


def test_the_rest_of_a_division_has_the_sign_of_the_left_side() -> None:
    assert [op.mod(-7, 3), op.mod(7, -3), op.mod(-7.5, 2), op.mod(Decimal(-7), 3)] == [
        -1, 1, -1.5, Decimal(-1),
    ]  # fmt: skip


@pytest.mark.parametrize("compute", [op.div, op.mod])
@pytest.mark.parametrize("zero", [0, 0.0, Decimal(0)])
def test_division_by_zero_says_so(compute: Callable[..., Any], zero: Any) -> None:
    with pytest.raises(FlowError, match=r"^division by zero$"):
        compute(1, zero)


@pytest.mark.parametrize("compute", [op.add, op.sub, op.mul, op.div, op.mod])
@pytest.mark.parametrize("left", VALUES)
@pytest.mark.parametrize("right", [None, True, {"a": 1}, b"a"])
def test_arithmetic_refuses_what_is_no_number(
    compute: Callable[..., Any], left: Any, right: Any
) -> None:
    with pytest.raises(FlowError):
        compute(left, right)


def test_null_in_arithmetic_points_to_default() -> None:
    with pytest.raises(FlowError, match=r"found number and null: add '\| default"):
        op.add(1, None)


@pytest.mark.parametrize("times", [2, 999_999_999, -1])
def test_a_text_cannot_be_repeated(times: int) -> None:
    with pytest.raises(FlowError, match="found text and number"):
        op.mul("a", times)


def test_squaring_a_number_ends_at_64_bits() -> None:
    number = 10**16
    assert op.mul(10**8, 10**8) == number
    with pytest.raises(FlowError, match="too large"):
        op.mul(number, number)


def test_squaring_a_decimal_ends() -> None:
    number = Decimal("1E+600")
    with pytest.raises(FlowError, match="too large"):
        op.mul(number, number)


@pytest.mark.parametrize(
    ("compute", "left", "right"),
    [
        (op.add, 2**63 - 1, 1),
        (op.sub, -(2**63), 1),
        (op.mul, 2**62, 2),
        (op.mul, 1e308, 10),
        (op.add, 10**400, 1.5),
        (op.div, 10**400, 3),
    ],
)
def test_a_result_out_of_range_is_refused(
    compute: Callable[..., Any], left: Any, right: Any
) -> None:
    with pytest.raises(FlowError, match="too large"):
        compute(left, right)


@given(integers, integers)
def test_whole_numbers_stay_in_64_bits_or_fail(left: int, right: int) -> None:
    for compute in (op.add, op.sub, op.mul):
        with suppress(FlowError):
            assert -(2**63) <= compute(left, right) < 2**63


def test_doubling_a_text_or_list_ends() -> None:
    text, members = "x" * 600_000, [1] * 60_000
    with pytest.raises(FlowError, match="1200000 characters, at most 1000000"):
        op.add(text, text)
    with pytest.raises(FlowError, match="120000 members, at most 100000"):
        op.add(members, members)


def test_negation_keeps_the_range() -> None:
    assert op.neg(5) == -5
    assert op.neg(Decimal("1.5")) == Decimal("-1.5")
    with pytest.raises(FlowError, match="too large"):
        op.neg(-(2**63))
    with pytest.raises(FlowError, match="'-' needs a number, found datetime"):
        op.neg(NOON)


def test_order_needs_two_of_a_kind() -> None:
    assert op.lt("Z", "a")
    assert op.le(1, Decimal("1.0"))
    assert op.gt(NOON, datetime(2026, 1, 1, tzinfo=UTC))
    assert op.ge(date(2026, 3, 5), date(2026, 3, 5))
    assert not op.gt(1, 1.5)


@pytest.mark.parametrize("compare", [op.lt, op.le, op.gt, op.ge])
@pytest.mark.parametrize(
    ("left", "right"),
    [({}, {}), ([1], [2]), (None, None), (True, False), (1, "1"), (NOON, date(2026, 3, 5)),
     (NOON, "2026-03-05"), (True, 1), (None, 1)],
)  # fmt: skip
def test_order_refuses_other_pairs(compare: Callable[..., Any], left: Any, right: Any) -> None:
    with pytest.raises(FlowError):
        compare(left, right)


@pytest.mark.parametrize("value", VALUES)
def test_a_value_equals_itself_and_never_null(value: Any) -> None:
    assert op.eq(value, value)
    assert op.eq(None, value) is (value is None)
    assert op.ne(value, None) is (value is not None)


def test_numbers_are_equal_across_their_kinds() -> None:
    assert op.eq(1, 1.0)
    assert op.eq(Decimal("1.50"), 1.5)


@pytest.mark.parametrize(
    ("left", "right"),
    [(1, "1"), (1, True), (NOON, "2026-03-05T12:00:00Z"), (NOON, date(2026, 3, 5)), ([], {})],
)
def test_values_of_two_kinds_are_unequal(left: Any, right: Any) -> None:
    assert not op.eq(left, right)
    assert op.ne(left, right)


def test_nested_values_are_compared_by_kind_too() -> None:
    assert op.eq({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]})
    assert not op.eq([1], [True])
    assert not op.eq({"a": 1}, {"b": 1})
    assert not op.eq([1], [1, 1])


def test_comparing_values_that_unfold_without_end_is_refused() -> None:
    with pytest.raises(FlowError, match="too large"):
        op.eq(bomb(60), bomb(60))


def test_comparing_deep_values_does_not_overflow_the_stack() -> None:
    left: list[Any] = []
    right: list[Any] = []
    for _ in range(50_000):
        left, right = [left], [right]
    assert op.eq(left, right)


def test_in_finds_members_by_value_and_kind() -> None:
    assert op.is_in(1, ["1", 1.0])
    assert op.is_in({"a": 1}, [{"a": 1}])
    assert op.is_in(None, [None])
    assert not op.is_in(1, [True, "1"])
    assert not op.is_in("a", ["abc"])
    assert not op.is_in(NO, [0, None])


@pytest.mark.parametrize("value", ["abc", {"a": 1}, None, 1])
def test_in_needs_a_list(value: Any) -> None:
    with pytest.raises(FlowError, match="'in' needs a list"):
        op.is_in("a", value)


@pytest.mark.parametrize("value", [None, 0, 1, "", "true", [], {}])
def test_only_true_and_false_are_conditions(value: Any) -> None:
    with pytest.raises(FlowError, match="must be true or false"):
        op.truth(value)
    assert op.truth(YES) is True


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("as is", "as is"),
        (True, "true"),
        (7, "7"),
        (2.5, "2.5"),
        (3.0, "3.0"),
        (1e21, "1e21"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1.50"), "1.50"),
        (NOON, "2026-03-05T12:00:00Z"),
        (NOON.replace(microsecond=5), "2026-03-05T12:00:00.000005Z"),
        (date(2026, 3, 5), "2026-03-05"),
    ],
)
def test_values_stand_in_texts_as_json_writes_them(value: Any, expected: str) -> None:
    assert op.text(value) == expected


@pytest.mark.parametrize(
    ("value", "cure"), [(None, "default"), ([], "json"), ({}, "json"), (b"", "base64")]
)
def test_what_has_no_text_names_the_filter_that_gives_one(value: Any, cure: str) -> None:
    with pytest.raises(FlowError, match=rf"cannot be part of a text: add '\| {cure}"):
        op.text(value)


@pytest.mark.parametrize("value", [Decimal("1E+999999"), Decimal("1E-999999"), 10**400])
def test_a_number_of_a_million_digits_is_not_written(value: Any) -> None:
    with pytest.raises(FlowError, match="too large"):
        op.text(value)


def test_a_template_joins_its_parts() -> None:
    assert op.join_text("n = ", 7, ", ok = ", YES) == "n = 7, ok = true"
    with pytest.raises(FlowError, match="null cannot be part"):
        op.join_text("n = ", None)
    with pytest.raises(FlowError, match="too long"):
        op.join_text("x" * 600_000, "y" * 600_000)


def test_a_loop_walks_lists_only() -> None:
    members = [1, 2]
    assert op.items(members) is members
    for value in (None, "abc", {"a": 1}, 3):
        with pytest.raises(FlowError, match="a loop walks a list"):
            op.items(value)
