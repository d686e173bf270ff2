"""Decimals: how a text or a number becomes one, and how many digits it may have."""

from __future__ import annotations

import decimal
import math
import re
from decimal import Decimal
from typing import Any, Final

from bbops.runtime.values.failures import NOTHING

MOST_DIGITS: Final = 1_000
"""Digits on either side of the point, in a column and in a shape."""
# Emax keeps the plain form of a decimal short.
QUOTIENTS: Final = decimal.Context(
    prec=38,
    Emax=999,
    Emin=-999,
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)
"""For quotients, which have no last digit."""
LOSSLESS: Final = decimal.Context(
    prec=2_000,
    Emax=999,
    Emin=-999,
    traps=[decimal.InvalidOperation, decimal.Overflow, decimal.Inexact],
)
"""For sums, differences and products: a digit that would be lost is an error."""
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_LONGEST: Final = 2 * MOST_DIGITS + 10


def parse_decimal(value: Any) -> Any:
    """Return a text or number as a decimal; NOTHING of another value.

    A float is the decimal that its shortest text says. The result may have too many digits.
    """
    of = type(value)
    if of is str:
        is_one = len(value) <= _LONGEST and _DECIMAL.fullmatch(value)
        return _plain(Decimal(value)) if is_one else NOTHING
    if of is float:
        value = Decimal(repr(value))
    elif of is int:
        return Decimal(value)
    return _plain(value) if type(value) is Decimal and value.is_finite() else NOTHING


def _plain(value: Decimal) -> Decimal:
    """Return 1E+3 as 1000; a decimal with too many digits stays as it is."""
    exponent = value.as_tuple().exponent
    if type(exponent) is int and exponent > 0 and value.adjusted() < MOST_DIGITS:
        return Decimal(format(value, "f"))
    return value


def fits(value: Decimal) -> bool:
    """Return whether a decimal has no more digits than a column holds."""
    exponent = value.as_tuple().exponent
    return value.adjusted() < MOST_DIGITS and type(exponent) is int and exponent >= -MOST_DIGITS


def exact(value: Any) -> Any:
    """Return a number beside a decimal as the decimal that its shortest text says."""
    return Decimal(repr(value)) if type(value) is float else value


def inexact(value: Any) -> Any:
    """Return a JSON value whose decimals are numbers, all the way down.

    Cost: one visit per member of a list or map.

    Raises:
        OverflowError: a number is larger than any float.
    """
    of = type(value)
    if of is Decimal:
        found = float(value)
        if math.isinf(found):
            raise OverflowError
        return found
    if of is list:
        return [inexact(one) for one in value]
    if of is dict:
        return {name: inexact(one) for name, one in value.items()}
    return value
