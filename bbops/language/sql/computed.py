"""Computed columns as SQL: an expression over columns of the same row, with constants inside."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bbops.language.expressions import nodes as s
from bbops.language.expressions.check import check_value
from bbops.language.expressions.conversions import constant_form
from bbops.language.expressions.inside import nodes
from bbops.language.expressions.related import RELATED, WINDOWS
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import Expression
from bbops.language.sql.checks import literal
from bbops.language.sql.dialect import Dialect, Slot, Template, Use
from bbops.language.sql.parts import NotInSql, read_constant
from bbops.language.sql.query import Query, check_nesting
from bbops.language.sql.types import SqlColumn, SqlTable
from bbops.runtime.data.statements import Statement
from bbops.runtime.values.identifiers import quote

TYPES: Final[Mapping[str, str]] = {
    "text": "text", "integer": "integer", "number": "number", "decimal": "decimal",
    "boolean": "boolean", "datetime": "datetime", "date": "date",
}  # fmt: skip
"""The type of a column that computes a value of each kind."""
_ONLY: Final = "a computed column reads columns of its own row, and constants"


def with_computed(table: SqlTable, computed: Mapping[str, tuple[Expression, bool]]) -> SqlTable:
    """Return a table with its computed columns.

    Args:
        computed: the expression of each, and whether the column is declared private; an expression
            with a mistake is of any type.
    """
    columns = dict(table.columns)
    for name, (value, private) in computed.items():
        of = check_value(value, _scope(table))
        columns[name] = SqlColumn(
            name, TYPES.get(of.kind, "json"), nullable=_may_be_null(of, value.node),
            private=private or of.hides, computed=value,
        )  # fmt: skip
    return SqlTable(table.name, columns, table.key, table.uniques, table.partial)


def _may_be_null(of: Type, node: s.Node) -> bool:
    """Return whether a value in SQL may be null: also by a division by zero."""
    is_value = of.kind != "boolean"  # a comparison with null is false
    return of.nullable or (is_value and any(map(_may_divide_by_zero, nodes(node))))


def _may_divide_by_zero(node: s.Node) -> bool:
    if not isinstance(node, s.Binary) or node.op not in {"/", "%"}:
        return False
    return not isinstance(node.right, s.Literal)


def foreign_names(value: Expression, table: SqlTable) -> Iterator[s.Node]:
    """Yield the names that a computed column may not read: relations, other computed columns."""
    for node in nodes(value.node):
        if isinstance(node, s.FunctionCall) and node.name in {*RELATED, *WINDOWS}:
            yield node
        elif isinstance(node, s.Name) and node.name not in table.stored.columns:
            known = {*table.columns, *table.relations, *table.children}
            if node.name in known:
                yield node


def computed_sql(table: SqlTable, name: str, dialect: Dialect, alias: str = "") -> str:
    """Return a computed column as SQL.

    Args:
        alias: the alias of the table's rows; without one its columns are bare.

    Raises:
        NotInSql: the expression has no SQL.
    """
    column, scope = table.columns[name], _scope(table.stored)
    assert column.computed is not None  # noqa: S101 - the caller passes computed columns only
    check_value(column.computed, scope)
    query = _Computed(table.stored, scope, dialect, alias)
    node = column.computed.node
    found = query.scalar(node)
    check_nesting(node, found)
    return Statement(dialect.computed(found, column.type), 0, dialect.words).sql


def selected(table: SqlTable, dialect: Dialect) -> str:
    """Return all columns of a table for SELECT, the computed ones with their names."""
    if not table.computes:
        return "*"
    alias = quote(table.name)
    return ", ".join(
        quote(name) if column.computed is None
        else f"{computed_sql(table, name, dialect, alias)} AS {quote(name)}"
        for name, column in table.columns.items()
    )  # fmt: skip


def returned_columns(table: SqlTable, names: Sequence[str], dialect: Dialect) -> str:
    """Return columns for RETURNING, where SQLite requires names without the table."""
    return ", ".join(
        quote(name) if table.columns[name].computed is None else computed_sql(table, name, dialect)
        for name in names
    )  # fmt: skip


def _scope(table: SqlTable) -> Scope:
    return Scope({}, lambda *_: None, columns=table.column_types, table=table.name)


class _Computed(Query):
    """Writes constants into the SQL, so that the text can stand anywhere."""

    def __init__(self, table: SqlTable, scope: Scope, dialect: Dialect, alias: str) -> None:
        super().__init__(table, scope, _refuse, bare=True, dialect=dialect)
        self.alias = alias

    def has_columns(self, node: s.Node) -> bool:
        # constants are computed in SQL, too, and no condition is decided before
        of = node.value if isinstance(node, s.Literal) else None
        return isinstance(of, bool) or not _is_constant(node)

    def condition(self, node: s.Node) -> Template:
        return self.given(node) if _is_constant(node) else super().condition(node)

    def scalar(self, node: s.Node, beside: str = "any") -> Template:
        if isinstance(node, s.FunctionCall):
            raise NotInSql(node.start, _ONLY)
        if _is_constant(node):
            return self.given(node, beside)
        if isinstance(node, s.Filter) and node.name == "default" and _is_constant(node.of):
            is_null = isinstance(node.of, s.Literal) and node.of.value is None
            return self.scalar(node.args[0] if is_null else node.of, beside)
        return super().scalar(node, beside)

    def given(
        self, node: s.Node, beside: str = "any", use: Use = "value", form: str = ""
    ) -> Template:
        slot = self.dialect.slot(self.type_of(node).kind, beside, use)
        value = read_constant(node, _ONLY)
        if form and isinstance(node, s.Literal):
            value = constant_form(node, form)
        value = literal(value, self.dialect)
        return slot.sql.replace("{}", value) if "{}" in slot.sql else slot.sql

    def searched(self, node: s.Node, field: str) -> Template:
        del field
        return self.scalar(node, "text")

    def given_list(self, node: s.Node, beside: str, form: str = "") -> Template:
        del beside, form
        raise NotInSql(node.start, _ONLY)

    def constant_text(self, text: str) -> Template:
        slot = self.dialect.slot("text", "any", "value")
        return slot.sql.replace("{}", literal(text, self.dialect))

    def bound(self, node: s.Node, slot: Slot) -> ast.expr:
        del slot
        return _refuse(node)

    def reach(
        self,
        node: s.Node,
        alias: str,
        table: SqlTable,
        path: tuple[str, ...],
        *,
        seen: bool = False,
    ) -> str:
        del alias, table, seen
        if len(path) > 1:
            raise NotInSql(node.start, _ONLY)
        return f"{self.alias}.{quote(path[0])}" if self.alias else quote(path[0])


def _is_constant(node: s.Node) -> bool:
    of = node.of if isinstance(node, s.Unary) and node.op == "-" else node
    return isinstance(of, s.Literal)


def _refuse(node: s.Node) -> ast.expr:
    raise NotInSql(node.start, _ONLY)
