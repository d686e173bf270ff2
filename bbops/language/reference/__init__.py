"""The reference of types, operators, filters and functions, as data.

The pages of docs/language, `bbops explain` and the editor all show these entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from bbops.language.reference._entry import (
    GROUPS,
    Argument,
    DatabaseDifference,
    Entry,
    Group,
    QueryExample,
    Sample,
    ValueExample,
    as_literal,
)
from bbops.language.reference.filters import filter_entries
from bbops.language.reference.functions import function_entries
from bbops.language.reference.markdown import as_markdown
from bbops.language.reference.operators import OPERATORS
from bbops.language.reference.types import TYPES

__all__ = [
    "GROUPS",
    "Argument",
    "DatabaseDifference",
    "Entry",
    "Group",
    "QueryExample",
    "Sample",
    "ValueExample",
    "as_literal",
    "as_markdown",
    "read_reference",
]


@cache
def read_reference() -> Mapping[Group, Mapping[str, Entry]]:
    """Return every entry by its group and its name."""
    groups: dict[Group, tuple[Entry, ...]] = {
        "type": TYPES, "operator": OPERATORS, "filter": filter_entries(),
        "function": function_entries(),
    }  # fmt: skip
    return {group: {entry.name: entry for entry in entries} for group, entries in groups.items()}
