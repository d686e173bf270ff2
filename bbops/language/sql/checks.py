"""A table's own conditions as the SQL of a CHECK or an index: columns and constants only."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Final

from bbops.language.expressions import nodes as s
from bbops.language.expressions.check import check_condition
from bbops.language.expressions.conversions import constant_form
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.values import Expression
from bbops.language.sql.dialect import Dialect, Slot, Template, Use
from bbops.language.sql.moment_filters import MOMENT_FILTERS
from bbops.language.sql.parts import NotInSql, read_constant
from bbops.language.sql.query import Query, check_nesting
from bbops.language.sql.types import SqlColumn, SqlTable
from bbops.runtime.data.statements import Statement
from bbops.runtime.values.identifiers import quote

_OURS: Final = frozenset({"lower", "upper", "trim"})
"""Filters that are custom functions on SQLite, where other programs must also write rows."""


def check_sql(
    name: str, columns: Mapping[str, SqlColumn], condition: Expression, dialect: Dialect
) -> str:
    """Return the condition of a CHECK as SQL that is true or false, never null; see `kept_sql`."""
    return f"({kept_sql(name, columns, condition, dialect)}) IS TRUE"


def kept_sql(
    name: str, columns: Mapping[str, SqlColumn], condition: Expression, dialect: Dialect,
    what: str = "a check",
) -> str:  # fmt: skip
    """Return a condition that the database keeps as SQL; it may be null.

    Args:
        name: the name of the table.
        columns: all columns of the table.
        condition: a condition without mistakes.
        dialect: the database's dialect for stored conditions; see `Dialect.kept`.
        what: the noun for the condition in messages.

    Raises:
        NotInSql: it needs more than the database may read there.
    """
    table = SqlTable(name, columns, ())
    scope = Scope({}, lambda *_: None, columns=table.column_types, table=name)
    check_condition(condition, scope)
    template = _Kept(table, scope, dialect, what).condition(condition.node)
    check_nesting(condition.node, template)
    return Statement(template, 0, dialect.words).sql


class _Kept(Query):
    """Writes constants into the SQL, without parameters and custom functions."""

    has_functions = False

    def __init__(self, table: SqlTable, scope: Scope, dialect: Dialect, what: str) -> None:
        super().__init__(table, scope, self.refuse, bare=True, dialect=dialect)
        self.what = what

    def refuse(self, node: s.Node) -> ast.expr:
        raise NotInSql(node.start, self.only)

    @property
    def only(self) -> str:
        return f"{self.what} compares columns and constants"

    def given(
        self, node: s.Node, beside: str = "any", use: Use = "value", form: str = ""
    ) -> Template:
        del beside, use
        value = read_constant(node, self.only)
        if form and isinstance(node, s.Literal):
            value = constant_form(node, form)
        return literal(value, self.dialect)

    def searched(self, node: s.Node, field: str) -> Template:
        del field
        return self.scalar(node, "text")

    def given_list(self, node: s.Node, beside: str, form: str = "") -> Template:
        del beside, form
        raise NotInSql(node.start, self.only)

    def constant_text(self, text: str) -> Template:
        return literal(text, self.dialect)

    def bound(self, node: s.Node, slot: Slot) -> ast.expr:
        del slot
        return self.refuse(node)

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
            raise NotInSql(node.start, f"{self.what} looks at one row only")
        return quote(path[0])

    def scalar(self, node: s.Node, beside: str = "any") -> Template:
        if isinstance(node, s.Filter) and node.name in _OURS | MOMENT_FILTERS:
            raise NotInSql(node.name_start, f"{self.what} cannot use the filter '{node.name}'")
        return super().scalar(node, beside)


def literal(value: Any, dialect: Dialect) -> str:
    """Return a constant of an expression as SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return dialect.words[0 if value else 1]
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)
