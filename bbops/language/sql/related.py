"""Functions over related rows, `rank` and `rowNumber`, as SQL."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

from bbops.language.expressions import nodes as s
from bbops.language.expressions.related import condition_of, names_of, order_of
from bbops.language.sql.dialect import Template, commas, seq
from bbops.language.sql.parts import NotInSql, Parts
from bbops.language.sql.types import SqlColumn
from bbops.runtime.values.identifiers import quote

MOST_RELATED = 1000
"""The most rows of a list of related rows, as of every list without `limit`."""


@dataclass(frozen=True, slots=True)
class RelatedRows:
    """The rows at the end of a path.

    Attributes:
        query: compiles the reads of each row; shares switches and parameters with the outer one.
        source: `FROM … WHERE …` that ties them to the outer row.
        order: the columns of the primary key.
    """

    query: Parts
    source: str
    order: str


def rows_of(query: Parts, node: s.Node, path: tuple[str, ...]) -> RelatedRows:
    """Return the rows of `team.members`, which stands at `node`."""
    owner = query.owner(node, path)
    last = owner.table.follow(path[:-1])
    assert last is not None  # noqa: S101 - the check has found it
    children = last.children[path[-1]]
    to_key = (*path[:-1], children.key)
    key = owner.reach(node, owner.alias, owner.table, to_key, seen=True)
    inner = copy(query)
    inner.table, inner.outer = owner.table.tables[children.table], query
    inner.alias = query.alias_of_its_own()
    source = (
        f"FROM {query.visible.source(inner.table)} AS {inner.alias} "
        f"WHERE {inner.alias}.{quote(children.column)} = {key}"
    )
    order = ", ".join(f"{inner.alias}.{quote(name)}" for name in inner.table.key)
    return RelatedRows(inner, source, order)


def related(query: Parts, node: s.FunctionCall) -> Template:
    """Return `exists`, `count`, `sum` and the like of the rows that refer to this one."""
    rows = rows_of(query, node.args[0], names_of(node.args[0]) or ())
    if node.name == "list":
        hint = "select it as it is, or look into it with 'in'"
        raise NotInSql(node.start, "a 'list' of related rows is not computed with in SQL", hint)
    if node.name == "exists":
        return seq("EXISTS (SELECT 1 ", _wanted(rows, node), ")")
    if node.name == "count":
        return seq("(SELECT count(*) ", _wanted(rows, node), ")")
    _refuse_json(query, node.args[1], "added" if node.name in {"sum", "avg"} else "compared")
    if node.name in {"first", "last"}:
        return _at_end(rows, node)
    found = query.dialect.aggregated(node.name, "v", query.type_of(node.args[1]).kind)
    return seq("(SELECT ", found, " FROM ", _values(rows, node), f"{query.dialect.list_alias})")


def _at_end(rows: RelatedRows, node: s.FunctionCall) -> Template:
    """Return the value of the first or the last row, in the order of the primary key."""
    way = " DESC" if node.name == "last" else ""
    order = ", ".join(f"{column}{way}" for column in rows.order.split(", "))
    value = rows.query.scalar(node.args[1])
    return seq("(SELECT ", value, " ", _wanted(rows, node), f" ORDER BY {order} LIMIT 1)")


def members(query: Parts, node: s.FunctionCall) -> Template:
    """Return the values of `list(relation, column)` as rows, for `in`."""
    rows = rows_of(query, node.args[0], names_of(node.args[0]) or ())
    _refuse_json(query, node.args[1], "searched")
    return _values(rows, node)


def _refuse_json(query: Parts, node: s.Node, done: str) -> None:
    if query.type_of(node).kind == "any":
        raise NotInSql(
            node.start, f"json columns cannot be {done}", "read the rows first, with find"
        )


def listed(query: Parts, node: s.FunctionCall) -> tuple[Template, SqlColumn]:
    """Return `list(relation, column)` as JSON, and the column that decodes its values."""
    rows = rows_of(query, node.args[0], names_of(node.args[0]) or ())
    column = rows.query.column_of("", node.args[1])
    cell = query.dialect.in_json(rows.query.scalar(node.args[1]), column.type)
    order = f" ORDER BY {rows.order} LIMIT {MOST_RELATED})"
    inner = seq("(SELECT ", cell, " AS v ", _wanted(rows, node), order)
    listed = query.dialect.json_list("v")
    return seq("(SELECT ", listed, " FROM ", inner, f"{query.dialect.list_alias})"), column


def as_json(
    cells: list[Template], rows: RelatedRows, *, where: Template = "", order: str = "",
    limit: int = MOST_RELATED,
) -> Template:  # fmt: skip
    """Return the cells of each row as a JSON list of lists.

    Args:
        cells: the first one is a column of the row itself; see `_values`.
        where: the condition, as SQL that begins with AND.
        order: the order as SQL; by default the primary key.
    """
    alias, dialect = rows.query.alias, rows.query.dialect
    return seq(
        "(SELECT ", dialect.json_list(dialect.json_row(commas(cells))), f" FROM (SELECT {alias}.* ",
        rows.source, where, f" ORDER BY {order or rows.order} LIMIT {limit}) AS {alias})",
    )  # fmt: skip


def _values(rows: RelatedRows, node: s.FunctionCall) -> Template:
    # SQL assigns an aggregate over outer columns only to the outer query, so each added or listed
    # value gets a name of its own, `v`.
    return seq("(SELECT ", rows.query.scalar(node.args[1]), " AS v ", _wanted(rows, node), ")")


def _wanted(rows: RelatedRows, node: s.FunctionCall) -> Template:
    condition = condition_of(node)
    if condition is None:
        return rows.source
    return seq(rows.source, " AND ", rows.query.condition(condition))


# ---- `rank` and `rowNumber` as SQL


def window(query: Parts, node: s.FunctionCall) -> Template:
    """Return the place of a row among all that the query finds; null is last."""
    order, is_down = order_of(node.args[0])
    up, down = query.dialect.ways(nullable=True)
    way = down if is_down else up
    apart = seq("PARTITION BY ", _compared(query, node.args[1]), " ") if node.args[1:] else ""
    by = seq(apart, "ORDER BY ", _compared(query, order), way)
    if node.name == "rank":
        return seq("rank() OVER (", by, ")")
    plain = " DESC" if is_down else ""
    key = "".join(f", {query.alias}.{quote(name)}{plain}" for name in query.table.key)
    return seq("row_number() OVER (", by, f"{key})")


def _compared(query: Parts, node: s.Node) -> Template:
    kind, dialect = query.type_of(node).kind, query.dialect
    behind = {"decimal": dialect.by_value, "text": dialect.by_code_point}.get(kind, "")
    return seq(query.scalar(node), behind)
