"""Filters on columns, and text with columns in it, as SQL."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from bbops.language.expressions import nodes as s
from bbops.language.sql.dialect import Template, filled, joined, seq
from bbops.language.sql.moment_filters import MOMENT_FILTERS, moment
from bbops.language.sql.parts import NotInSql, Parts, read_constant
from bbops.language.sql.sqlite import SQLITE

_BESIDE: Mapping[str, str] = dict.fromkeys(
    ("replace", "contains", "startsWith", "endsWith"), "text"
) | dict.fromkeys(("min", "max", "clamp", "round"), "number")
"""The kind of a filter's arguments."""
_NUMERIC = frozenset({"abs", "floor", "ceil", "min", "max", "clamp", "round"})
_SEARCHES = frozenset({"contains", "endsWith", "replace", "startsWith"})
COLUMN_FILTERS = frozenset(
    {*SQLITE.filters, *_NUMERIC, *MOMENT_FILTERS, "divide", "slice", "toString"}
)
"""Filters that also run on columns."""


def filtered(query: Parts, node: s.Filter) -> Template:
    """Return the SQL of a filter on a column."""
    if node.name == "default" and not query.has_columns(node.of):
        return _default(query, node)
    if node.name not in COLUMN_FILTERS:
        raise NotInSql(
            node.name_start, f"filter '{node.name}' does not work on columns",
            "use it on the value it is compared with, or on the rows",
        )  # fmt: skip
    if node.name in MOMENT_FILTERS:
        return moment(query, node)
    if node.name == "divide":
        return _divided(query, node)
    if node.name == "toString":
        return to_text(query, node.of)
    if node.name == "round" and query.type_of(node.of).kind == "decimal":
        return _rounded(query, node)
    if node.name in _NUMERIC and query.type_of(node.of).kind == "decimal":
        message = f"'{node.name}' on decimals is not supported in SQL"
        raise NotInSql(node.name_start, message)
    beside = _BESIDE.get(node.name) or query.type_of(node.of).kind
    of = query.scalar(node.of, beside)
    if node.name in _SEARCHES:
        return _search(query, node, of)
    args = [query.scalar(arg, beside) for arg in node.args]
    if node.name == "round":
        return query.dialect.rounded(of, args)
    if node.name in {"min", "max", "clamp"}:
        null = any(query.may_be_null(part) for part in (node.of, *node.args))
        return query.dialect.lesser(node.name, [of, *args], null=null)
    if node.name == "slice":
        return _slice(node, of)
    if node.name in {"floor", "ceil"} and query.type_of(node.of).kind == "integer":
        return of
    return filled(query.dialect.filters[node.name], [of, *args])


def _search(query: Parts, node: s.Filter, of: Template) -> Template:
    """Return a filter that looks for a text; its cost is the product of both lengths."""
    wanted, *rest = node.args
    reads_row = query.has_columns(wanted)
    patterns = query.dialect.searches if reads_row else query.dialect.filters
    others = [query.scalar(argument, "text") for argument in rest]
    return filled(
        patterns[node.name], [of, query.searched(wanted, s.request_field(wanted)), *others]
    )


def _divided(query: Parts, node: s.Filter) -> Template:
    by, places = node.args
    message = "on columns the places of 'divide' are a constant"
    count = read_constant(places, message)
    kinds = {query.type_of(side).kind for side in (node.of, by)}
    if not isinstance(count, int) or kinds - {"decimal", "integer"}:
        message = message if not isinstance(count, int) else "'divide' on numbers is not exact"
        raise NotInSql(node.name_start, message, "use decimals and whole numbers")
    return query.dialect.exact_divided(query.scalar(node.of), query.scalar(by), count)


def _rounded(query: Parts, node: s.Filter) -> Template:
    """Return `round` of a decimal, which loses only the places after the last one."""
    message = "on columns the places of 'round' are a constant from 0 to 18"
    count = read_constant(node.args[0], message) if node.args else 0
    if not isinstance(count, int) or not 0 <= count <= 18:
        raise NotInSql(node.name_start, message)
    return query.dialect.exact_divided(query.scalar(node.of), "1", count)


def _default(query: Parts, node: s.Filter) -> Template:
    """Return `input.title | default(row.title)`: the column is read only if the value is null."""
    is_null = ast.Compare(query.host(node.of), [ast.Is()], [ast.Constant(None)])
    at = query.switch(is_null)
    query.live.append(query.read_switch(at, on=True))
    other = query.scalar(node.args[0])
    query.live[-1] = query.read_switch(at, on=False)
    given = query.given(node.of, query.type_of(node.args[0]).kind)
    query.live.pop()
    return ("if", at, other, given)


def _slice(node: s.Filter, of: Template) -> Template:
    ends = [arg.value if isinstance(arg, s.Literal) else None for arg in node.args]
    if len(ends) != 2 or not all(isinstance(end, int) and end >= 0 for end in ends):
        raise NotInSql(node.name_start, "on columns 'slice' needs two constants from 0 on")
    start, stop = int(ends[0] or 0), int(ends[1] or 0)
    return seq("substr(", of, f", {start + 1}, {max(0, stop - start)})")


def to_text(query: Parts, node: s.Node) -> Template:
    """Return a value in the form of a part of a longer text."""
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
        query.constant_text(part) if isinstance(part, str) else to_text(query, part)
        for part in parts
    ]
    return seq("(", joined(pieces, " || "), ")")
