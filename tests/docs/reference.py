"""Make the pages of types, operators, filters and functions from the reference."""

from __future__ import annotations

from collections.abc import Mapping

from bbops.interfaces.mcp.handbook import anchor
from bbops.language.reference import Entry, Group, as_markdown, read_reference
from bbops.language.reference.functions import ROWS

_TYPES = """# Types

The types of columns and of the fields of shapes. The first line of each says what is sent and \
what is answered; the examples, which tests run on both databases, store the value on the left and \
read the one on the right. [The overview](../language.md#types) says how types are checked. \
`bbops explain type decimal` shows one of them."""
_OPERATORS = """# Operators

The operators of expressions, from those that bind loosest to those that bind tightest: \
`a if c else b`, `or`, `and`, `not`, comparisons and `in`, `+` and `-`, `*` `/` `%`, the sign of a \
number, filters, `.name` and `[…]`. A value that may be null is refused \
([maybe-null]({root}errors/expressions.md#maybe-null)), except by `==`, `!=`, `in`, `not in` and \
`?.`. Tests run every example, those on columns on both databases. `bbops explain operator in` \
shows one of them."""
_FILTERS = """# Filters

`value | name(arguments)` gives another value. A value that may be null is refused \
([maybe-null]({root}errors/expressions.md#maybe-null)), unless the filter takes null. In a query a \
filter of a column runs in the database, and gives the same on SQLite and PostgreSQL, except where \
its section says so. Tests run every example, those on columns on both databases. \
[The overview](../language.md#expressions) says how expressions are written. \
`bbops explain filter date` shows one of them."""
_FUNCTIONS = """# Functions

`name(arguments)` gives a value. Those of rows, groups and places stand in the queries of \
[find](steps/find.md), and run in the database. Tests run every example, those of queries on both \
databases. `bbops explain function now` shows one of them.

The examples of queries read these rows, and show a result for each row or group:

{rows}"""


def reference_pages() -> Mapping[str, str]:
    """Return each page by its path below docs/language."""
    return {
        "types.md": _page("type", _TYPES),
        "operators.md": _page("operator", _OPERATORS),
        "filters.md": _page("filter", _FILTERS, is_sorted=True),
        "functions.md": _page("function", _FUNCTIONS.format(rows=_rows()), is_sorted=True),
    }


def _page(group: Group, head: str, *, is_sorted: bool = False) -> str:
    entries = list(read_reference()[group].values())
    if is_sorted:
        entries.sort(key=lambda one: one.name.lower())
    index = ", ".join(f"[{_shown(one)}](#{anchor(heading(one))})" for one in entries)
    sections = (f"## {heading(one)}\n\n{as_markdown(one)}" for one in entries)
    return "\n\n".join([head, index, *sections])


def heading(entry: Entry) -> str:
    """Return the heading of an entry; a sign alone would have no anchor."""
    return f"{entry.title} (`{entry.name}`)" if entry.group == "operator" else entry.name


def _shown(entry: Entry) -> str:
    return f"`{entry.name}`" if entry.group == "operator" else entry.name


def _rows() -> str:
    return "\n\n".join(map(_table, ROWS))


def _table(name: str) -> str:
    first, *_ = ROWS[name]
    lines = [f"| {' | '.join(first)} |", f"|{' --- |' * len(first)}"]
    lines += [f"| {' | '.join(map(str, row.values()))} |" for row in ROWS[name]]
    return f"`{name}`:\n\n" + "\n".join(lines)
