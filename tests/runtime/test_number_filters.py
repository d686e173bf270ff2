"""Filters over numbers: what counts as one, and how they are rounded."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.runtime.values.failures import FlowError
from tests.support.filter_examples import apply

YES = True


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers_survive_to_number(number: int) -> None:
    result = apply("toNumber", str(number))
    assert result == number
    assert type(result) is int


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_fractions_survive_to_number(number: float) -> None:
    assert apply("toNumber", json.dumps(number)) == number


@given(st.text())
def test_to_number_agrees_with_json(text: str) -> None:
    result = apply("toNumber", text)
    if result is not None:
        assert json.loads(text) == result


@pytest.mark.parametrize(
    "text",
    ["", " 1", "1 ", "+1", "01", "1.", ".5", "0x1", "1_000", "NaN", "Infinity", "1e999", "\u0661",
     "--1", "9223372036854775808", "-9223372036854775809", "1" * 5_000, "twelve"],
)  # fmt: skip
def test_other_text_is_no_number(text: str) -> None:
    assert apply("toNumber", text) is None


def test_numbers_are_numbers_already() -> None:
    assert apply("toNumber", 5) == 5
    assert apply("toNumber", Decimal("2.50")) == 2.5
    assert type(apply("toNumber", Decimal("2.00"))) is int
    with pytest.raises(FlowError, match="found boolean"):
        apply("toNumber", YES)


def test_other_text_is_no_boolean() -> None:
    assert apply("toBoolean", "false") is False
    assert [apply("toBoolean", text) for text in ("True", "1", "", "yes")] == [None] * 4


@pytest.mark.parametrize(
    ("value", "places", "expected"),
    [
        (2.5, 0, 3),
        (-2.5, 0, -3),
        (2.675, 2, 2.68),
        (1234, -2, 1200),
        (1250.0, -2, 1300),
        (7, 2, 7),
        (Decimal("2.345"), 2, Decimal("2.35")),
        (Decimal(1250), -2, Decimal(1300)),
        (0.1, 18, 0.1),
    ],
)
def test_halves_are_rounded_away_from_zero(value: Any, places: int, expected: Any) -> None:
    result = apply("round", value, places)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize("name", ["floor", "ceil", "round"])
def test_a_float_beyond_64_bits_has_no_whole_number(name: str) -> None:
    with pytest.raises(FlowError, match="too large"):
        apply(name, 1e300)


def test_clamp_refuses_a_range_that_is_upside_down() -> None:
    assert [apply("clamp", number, 1, 3) for number in (0, 2, 9)] == [1, 2, 3]
    with pytest.raises(FlowError, match="lower end first"):
        apply("clamp", 2, 3, 1)
