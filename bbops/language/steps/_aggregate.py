"""`aggregate` of find: numbers about groups of rows."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from bbops.base.diagnostics import suggest
from bbops.base.model import Model
from bbops.base.names import VariableName
from bbops.language.expressions import nodes as s
from bbops.language.expressions.types import INTEGER, NEVER, NUMBER, Type, map_of
from bbops.language.expressions.values import Bare, BareField, Expression
from bbops.language.sql.query import Query
from bbops.language.sql.related import total
from bbops.language.sql.template import Template, seq
from bbops.language.sql.types import Column, Table
from bbops.language.steps._base import Static
from bbops.language.steps._checking import Checking, mark_of
from bbops.language.steps._flow import Flow
from bbops.language.steps._order import parse_order
from bbops.language.steps._query import check_columns, query_scope, try_sql
from bbops.runtime.values.identifiers import quote
from bbops.source.yaml.document import Mark, Text

_TAKES = {
    "sum": "number", "avg": "number", "min": "number text datetime date",
    "max": "number text datetime date",
}  # fmt: skip
"""The functions of one argument, and what it may be."""


class Aggregate(Model):
    """The columns whose values make a group, and what is computed for each group."""

    group_by: list[Static] = []
    values: Annotated[dict[VariableName, BareField], Field(min_length=1)]


# ---- check
def check_aggregate(at: Checking, table: Table, given: Aggregate, place: Mark | None) -> Type:
    """Report what is wrong with an aggregate and return the type of a group."""
    check_columns(at, table, given.group_by)
    types = table.column_types
    found = {str(name): types.get(name, NEVER) for name in given.group_by}
    for name, value in given.values.items():
        if name in found:
            message = f"'{name}' is a column of 'groupBy' already"
            at.report(mark_of(value) or place, "aggregate", message, "choose another name")
        found[name] = _check_value(at, table, value, place, grouped=bool(given.group_by))
    return map_of(found, "the group")


def _check_value(
    at: Checking, table: Table, value: Bare, place: Mark | None, *, grouped: bool
) -> Type:
    node = value.node if isinstance(value, Expression) else None
    if not isinstance(node, s.Call) or node.name not in {"count", *_TAKES}:
        if node is None:
            return at.value(value)
        message = "a value is count(), count(condition), sum(x), avg(x), min(x) or max(x)"
        at.report(mark_of(value) or place, "aggregate", message)
        return INTEGER
    most, least = 1, 0 if node.name == "count" else 1
    if not least <= len(node.args) <= most:
        message = f"'{node.name}' takes {'at most ' if not least else ''}one argument"
        at.report(mark_of(value) or place, "aggregate", message)
        return INTEGER
    return _check_call(at, table, node, mark_of(value) or place, grouped=grouped)


def _check_call(
    at: Checking, table: Table, node: s.Call, place: Mark | None, *, grouped: bool
) -> Type:
    scope = query_scope(at, table)
    query = Query(table, scope, lambda _: ast.Constant(None), bare=True)
    if not node.args:
        return INTEGER
    argument = Expression(node.args[0], place)
    at.follows(table, argument)
    if node.name == "count":
        at.condition(argument, place, within=scope)
        try_sql(at, argument, query)
        return INTEGER
    of = at.value(argument, within=scope)
    at.fit(argument, of, _TAKES[node.name], f"'{node.name}'", place, null=True)
    if of.kind == "decimal" and node.name == "avg":
        hint = "take their sum and their count, and divide"
        at.report(place, "not-in-sql", "'avg' of decimals is not supported in SQL", hint)
    try_sql(at, argument, query)
    if node.name == "sum":
        return of.not_null()
    found = NUMBER if node.name == "avg" else of
    return found if grouped and not of.nullable else found.or_null()


def check_group_order(
    at: Checking, given: Aggregate, texts: Sequence[tuple[str, Mark | None]] | None,
    place: Mark | None,
) -> None:  # fmt: skip
    """Report an order by anything but the names of a group."""
    names = [*given.group_by, *given.values]
    if texts is None:
        at.report(place, "order", "with 'aggregate' the order is 'name.desc', or a list of such")
    for text, mark in texts or ():
        name = ".".join(parse_order(text)[0])
        if name not in names:
            hint = suggest(name, names) or "known here: " + ", ".join(names)
            at.report(mark or place, "order", f"'{text}' is not a name in 'aggregate'", hint)


# ---- code
def aggregate_code(
    flow: Flow, query: Query, table: Table, given: Aggregate
) -> tuple[list[Template], list[Column]]:
    """Return what is selected, and how each value comes out of the database."""
    columns = [table.columns[name] for name in given.group_by]
    selected: list[Template] = [_column(query, name) for name in given.group_by]
    for name, value in given.values.items():
        assert isinstance(value, Expression)  # noqa: S101 - checked before
        assert isinstance(value.node, s.Call)  # noqa: S101 - checked before
        selected.append(_computed(query, value.node))
        columns.append(Column(Text(name), _type_of(flow, value.node), nullable=True))
    return selected, columns


def _type_of(flow: Flow, node: s.Call) -> str:
    if node.name in {"min", "max"}:
        kind = flow.emitter.scope.type_of(node.args[0]).kind
        return "string" if kind == "text" else kind
    if node.name == "sum" and flow.emitter.scope.type_of(node.args[0]).kind == "decimal":
        return "decimal"
    return "number"


def _computed(query: Query, node: s.Call) -> Template:
    if node.name == "count":
        if not node.args:
            return "count(*)"
        return seq("count(CASE WHEN ", query.condition(node.args[0]), " THEN 1 END)")
    if node.name == "sum":
        return total(query, node.args[0])
    kind = query.type_of(node.args[0]).kind
    return query.dialect.aggregated(node.name, query.scalar(node.args[0]), kind)


def group_clauses(
    query: Query, given: Aggregate, texts: Sequence[tuple[str, Mark | None]]
) -> tuple[str, str]:
    """Return GROUP BY with its columns, or nothing, and the order, which ends with the group."""
    groups = [_by_value(query, name, _column(query, name)) for name in given.group_by]
    names = [*given.group_by, *given.values]
    keys = [(".".join(path), way) for path, way in (parse_order(text) for text, _ in texts)]
    used = {name for name, _ in keys}
    keys += [(name, "asc") for name in given.group_by if name not in used]
    order = ", ".join(_ordered(query, names, name, direction) for name, direction in keys)
    return (f" GROUP BY {', '.join(groups)}" if groups else ""), order or "1"


def _column(query: Query, name: str) -> str:
    return f"{query.alias}.{quote(name)}"


def _by_value(query: Query, name: str, sql: str) -> str:
    column = query.table.columns.get(name)
    return sql + query.dialect.by_value if column and column.type == "decimal" else sql


def _ordered(query: Query, names: Sequence[str], name: str, direction: str) -> str:
    up, down = query.dialect.ways(nullable=True)
    at = str(names.index(name) + 1)
    return _by_value(query, name, at) + (down if direction == "desc" else up)
