"""Every filter and function of expressions, each declared in one place of one of these files."""

from __future__ import annotations

from bbops.runtime.values.filters import (
    arrows,
    codes,
    functions,
    lists,
    maps,
    numbers,
    texts,
    times,
)
from bbops.runtime.values.filters._registry import FILTERS, FUNCTIONS, Filter, Function

__all__ = [
    "FILTERS",
    "FUNCTIONS",
    "Filter",
    "Function",
    "arrows",
    "codes",
    "functions",
    "lists",
    "maps",
    "numbers",
    "texts",
    "times",
]
