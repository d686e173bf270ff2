"""The SQL of groups: the columns and the order of `aggregate` and `distinct` of find."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

from bbops.language.expressions import nodes as s
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import Bare, Expression
from bbops.language.sql.parts import Joins
from bbops.language.sql.query import Query
from bbops.language.sql.template import Template, commas, seq
from bbops.language.sql.types import SqlColumn
from bbops.language.steps._aggregate import (
    GROUPS,
    Aggregate,
    groups_scope,
    groups_table,
    parts_of,
    result_of,
)
from bbops.language.steps._order import parse_order
from bbops.language.steps._shape import Groups
from bbops.runtime.values.identifiers import quote
from bbops.source.yaml.document import Mark, Text


@dataclass(frozen=True, slots=True)
class Grouped:
    """A statement without its order: a row for each group.

    Attributes:
        columns: the column that decodes each value.
    """

    sql: Template
    columns: list[SqlColumn]
    groups: int
    query: Query

    def order(self, texts: Sequence[tuple[str, Mark | None]]) -> str:
        """Return the text after ORDER BY: it ends with the columns of the groups."""
        names = [str(column.name) for column in self.columns]
        keys = [(".".join(path), way) for path, way in (parse_order(text) for text, _ in texts)]
        used = {name for name, _ in keys}
        keys += [(name, "asc") for name in names[: self.groups] if name not in used]
        up, down = self.query.dialect.ways(nullable=True)
        parts = [
            _by_value(self.query, self.columns[at], str(at + 1)) + (down if way == "desc" else up)
            for at, way in ((names.index(name), way) for name, way in keys)
        ]
        return ", ".join(parts) or "1"

    def total(self) -> Template:
        """Return the statement that counts the groups."""
        return seq("SELECT count(*) FROM (", self.sql, ") AS _counted")


def group_code(
    query: Query, groups: Groups, given: Aggregate | None, where: Template
) -> Grouped:  # fmt: skip
    """Return the statement of groups of a query's rows.

    Args:
        where: the condition of the rows.
    """
    joined = copy(query)
    joined.joins = joins = Joins(query.alias)
    cells = [
        (name, *_group(joined, name, node)) for name, node in map(_node_of, groups.items)
    ]  # fmt: skip
    values = given.values if given is not None else {}
    types = [query.type_of(node) for _, node in map(_node_of, groups.items)]
    for name, node in map(_node_of, values.items()):
        sql, of = _value(joined, node)
        cells.append((name, sql, SqlColumn(Text(name), _stored(of), nullable=True)))
        types.append(of)
    columns = [column for _, _, column in cells]
    places = [_by_value(query, column, str(at + 1)) for at, column in enumerate(columns)]
    places = places[: len(groups.items)]
    selected = commas([seq(sql, f" AS {quote(name)}") for name, sql, _ in cells])
    whole = seq(
        "SELECT ", selected, f" FROM {query.rows}{joins.sql} WHERE ", where,
        f" GROUP BY {', '.join(places)}" if places else "",
    )  # fmt: skip
    if given is not None and isinstance(given.having, Expression):
        named = {name: of for (name, _, _), of in zip(cells, types, strict=True)}
        condition = _having(query, named, given.having.node)
        whole = seq("SELECT * FROM (", whole, f") AS {quote(GROUPS)} WHERE ", condition)
    return Grouped(whole, columns, len(groups.items), query)


def _node_of(item: tuple[str, Bare]) -> tuple[str, s.Node]:
    name, value = item
    assert isinstance(value, Expression)  # noqa: S101 - the check has tested it
    return name, value.node


def _group(query: Query, name: str, node: s.Node) -> tuple[Template, SqlColumn]:
    column = query.column_of(name, node)
    column = SqlColumn(Text(name), column.type, nullable=True)
    sql = query.scalar(node)
    is_text = query.type_of(node).kind == "text"
    return (seq(sql, query.dialect.by_code_point) if is_text else sql), column


def _value(query: Query, node: s.Node) -> tuple[Template, Type]:
    assert isinstance(node, s.FunctionCall)  # noqa: S101 - the check has tested it
    argument, condition = parts_of(node)
    only = "" if condition is None else seq(" FILTER (WHERE ", query.condition(condition), ")")
    if argument is None:
        return seq("count(*)", only), Type("integer")
    of = query.type_of(argument)
    sql = query.dialect.aggregated(node.name, query.scalar(argument), of.kind, only)
    return sql, result_of(node, of, always=False)


def _stored(of: Type) -> str:
    return "string" if of.kind == "text" else of.kind


def _having(query: Query, types: dict[str, Type], node: s.Node) -> Template:
    asked = copy(query)
    asked.table, asked.alias, asked.outer = groups_table(types), quote(GROUPS), asked
    asked.scope = groups_scope(query.scope, types)
    return asked.condition(node)


def _by_value(query: Query, column: SqlColumn, sql: str) -> str:
    return sql + query.dialect.by_value if column.type == "decimal" else sql
