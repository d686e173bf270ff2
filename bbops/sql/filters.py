"""Filters on columns, and text with columns in it, as SQL."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from bbops.expressions import nodes as s
from bbops.sql.parts import NotInSql, Parts
from bbops.sql.template import Template, commas, joined, seq

_FILTERS: Mapping[str, str] = {
    "length": "length({0})", "lower": "bbops_lower({0})", "upper": "bbops_upper({0})",
    "trim": "bbops_trim({0})", "replace": "replace({0}, {1}, {2})",
    "contains": "(instr({0}, {1}) > 0)", "startsWith": "(instr({0}, {1}) = 1)",
    # Bytes, since `length` of a text stops at a NUL; the end of UTF-8 is the end of the text.
    "endsWith": "({1} = '' AND {0} = {0} OR substr(CAST({0} AS BLOB), "
    "length(CAST({0} AS BLOB)) - length(CAST({1} AS BLOB)) + 1) = CAST({1} AS BLOB))",
    "default": "coalesce({0}, {1})", "abs": "abs({0})",
    "floor": "floor({0})", "ceil": "ceil({0})", "min": "min({0}, {1})", "max": "max({0}, {1})",
    "clamp": "max({1}, min({2}, {0}))",
}  # fmt: skip

_NUMERIC = frozenset({"abs", "floor", "ceil", "min", "max", "clamp", "round"})
COLUMN_FILTERS = frozenset({*_FILTERS, "round", "slice", "toString"})
"""Filters that also run on columns."""


def filtered(query: Parts, node: s.Filter) -> Template:
    """Return what a filter makes of a column."""
    if node.name == "default" and not query.has_columns(node.of):
        return _default(query, node)
    if node.name not in COLUMN_FILTERS:
        raise NotInSql(
            node.name_start, f"filter '{node.name}' does not run on columns",
            "use it on the value it is compared with, or on the rows",
        )  # fmt: skip
    if node.name == "toString":
        return to_text(query, node.of)
    if node.name in _NUMERIC and query.type_of(node.of).kind == "decimal":
        message = f"'{node.name}' on decimals is not computed in SQL"
        raise NotInSql(node.name_start, message)
    of = query.scalar(node.of)
    args = [query.scalar(arg) for arg in node.args]
    if node.name == "round":
        return seq("round(", commas([of, *args]), ")")
    if node.name == "slice":
        return _slice(node, of)
    return _format(_FILTERS[node.name], [of, *args])


def _default(query: Parts, node: s.Filter) -> Template:
    """`input.title | default(row.title)`: the column is read only when the value is null."""
    is_null = ast.Compare(query.host(node.of), [ast.Is()], [ast.Constant(None)])
    at = query.switch(is_null)
    query.live.append(query.read_switch(at, on=True))
    other = query.scalar(node.args[0])
    query.live[-1] = query.read_switch(at, on=False)
    given = query.parameter(query.bound(node.of))
    query.live.pop()
    return ("if", at, other, given)


def _slice(node: s.Filter, of: Template) -> Template:
    ends = [arg.value if isinstance(arg, s.Literal) else None for arg in node.args]
    if len(ends) != 2 or not all(isinstance(end, int) and end >= 0 for end in ends):
        raise NotInSql(node.name_start, "on columns 'slice' needs two constants from 0 on")
    start, stop = int(ends[0] or 0), int(ends[1] or 0)
    return seq("substr(", of, f", {start + 1}, {max(0, stop - start)})")


def to_text(query: Parts, node: s.Node) -> Template:
    """Return a value as it stands inside a longer text."""
    kind = query.type_of(node).kind
    if not query.has_columns(node) or kind == "text":
        return query.scalar(node)
    if kind == "boolean":
        return seq("CASE WHEN ", query.condition(node), " THEN 'true' ELSE 'false' END")
    if kind == "integer":
        return seq("CAST(", query.scalar(node), " AS TEXT)")
    raise NotInSql(node.start, f"a {kind} does not become text in SQL")


def text_of(query: Parts, parts: tuple[str | s.Node, ...]) -> Template:
    """Return text with expressions inside."""
    pieces: list[Template] = [
        query.parameter(ast.Constant(part)) if isinstance(part, str) else to_text(query, part)
        for part in parts
    ]
    return seq("(", joined(pieces, " || "), ")")


def _format(pattern: str, parts: list[Template]) -> Template:
    """Fill `{0}`, `{1}` … of a pattern; a part may stand in it more than once."""
    out: list[Template] = []
    for at, piece in enumerate(pattern.replace("}", "{").split("{")):
        if at % 2:
            out.append(parts[int(piece)])
        elif piece:
            out.append(piece)
    return ("seq", *out)
