"""What a test is told that expects a number where an answer has a decimal."""

from __future__ import annotations

import pytest

from bbops.compiler.testing.values import differences


@pytest.mark.parametrize(
    ("expected", "found", "is_told"),
    [(7, "7.0", True), (3.5, "-3.50", True), ("7", "7.0", False), (7, "seven", False)],
)
def test_expected_number_says_to_quote_a_decimal(
    expected: object, found: object, is_told: bool
) -> None:
    [(_, message)] = differences(expected, found, "total")
    assert ("quote the number" in message) == is_told
