"""Decide what an unquoted YAML scalar means: the core schema of YAML 1.2, and nothing more.

`on`, `yes`, dates, `1_000` and `12:30` are texts, as an editor shows them.
"""

from __future__ import annotations

import math
import re

Scalar = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
    ".nan": math.nan, ".NaN": math.nan, ".NAN": math.nan,
    ".inf": math.inf, ".Inf": math.inf, ".INF": math.inf,
    "+.inf": math.inf, "+.Inf": math.inf, "+.INF": math.inf,
    "-.inf": -math.inf, "-.Inf": -math.inf, "-.INF": -math.inf,
}  # fmt: skip
_STARTS = frozenset("0123456789+-.")
_DECIMAL = re.compile(r"[-+]?[0-9]+").fullmatch
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+").fullmatch
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?").fullmatch
_LONGEST = 4000
"""Digits; `int` itself refuses a little more."""


def resolve(text: str) -> Scalar:
    """Return the value of a plain scalar.

    Raises:
        OverflowError: an integer beyond 64 bits, or a number beyond a double.

    Source: YAML 1.2.2, section 10.3.2.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _STARTS:
        return text
    if _DECIMAL(text):
        return _integer(text, 10)
    if _OTHER_BASE(text):
        return _integer(text, 0)
    return _float(text) if _FLOAT(text) else text


def _integer(text: str, base: int) -> int:
    value = int(text, base) if len(text) <= _LONGEST else 1 << 64
    if not -(1 << 63) <= value < 1 << 63:
        raise OverflowError(text)
    return value


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise OverflowError(text)
    return value
