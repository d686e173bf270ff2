"""A table's own conditions as the text of a CHECK: columns and constants, and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Final

from bbops.language.expressions import nodes as s
from bbops.language.expressions.check import check_condition
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.values import Expression
from bbops.language.sql.dialect import Dialect, Slot, Use
from bbops.language.sql.parts import NotInSql, read_constant
from bbops.language.sql.query import Query, check_nesting
from bbops.language.sql.template import Template
from bbops.language.sql.types import Column, Table
from bbops.runtime.data.statements import Statement
from bbops.runtime.values.identifiers import quote

_OURS: Final = frozenset({"lower", "upper", "trim"})
"""Filters that are functions of ours on SQLite: other programs must be able to write rows, too."""


def check_sql(
    name: str, columns: Mapping[str, Column], condition: Expression, dialect: Dialect
) -> str:
    """Return the condition as SQL that is true or false, never null.

    Args:
        name: the table's.
        columns: all of it.
        condition: one that is sound.
        dialect: of what the database keeps; see `bbops.language.sql.sqlite.SQLITE_CHECK`.

    Raises:
        NotInSql: it asks for more than a CHECK may look at.
    """
    table = Table(name, columns, ())
    scope = Scope({}, lambda *_: None, columns=table.column_types, table=name)
    check_condition(condition, scope)
    template = _Check(table, scope, dialect).condition(condition.node)
    check_nesting(condition.node, template)
    return f"({Statement(template, 0, dialect.words).sql}) IS TRUE"


class _Check(Query):
    """Writes constants into the SQL: a CHECK has no parameters."""

    def __init__(self, table: Table, scope: Scope, dialect: Dialect) -> None:
        super().__init__(table, scope, _refuse, bare=True, dialect=dialect)

    def given(self, node: s.Node, beside: str = "any", use: Use = "value") -> Template:
        del beside, use
        return _literal(read_constant(node, _ONLY), self.dialect)

    def searched(self, node: s.Node, field: str) -> Template:
        del field
        return self.scalar(node, "text")

    def given_list(self, node: s.Node, beside: str) -> Template:
        del beside
        raise NotInSql(node.start, _ONLY)

    def constant_text(self, text: str) -> Template:
        return _literal(text, self.dialect)

    def bound(self, node: s.Node, slot: Slot) -> ast.expr:
        del slot
        return _refuse(node)

    def reach(self, node: s.Node, alias: str, table: Table, path: tuple[str, ...]) -> str:
        del alias, table
        if len(path) > 1:
            raise NotInSql(node.start, "a check looks at one row only")
        return self.dialect.column(quote(path[0]), self.table.columns[path[0]].type)

    def scalar(self, node: s.Node, beside: str = "any") -> Template:
        if isinstance(node, s.Filter) and node.name in _OURS:
            raise NotInSql(node.name_start, f"a check cannot use the filter '{node.name}'")
        return super().scalar(node, beside)


_ONLY: Final = "a check compares columns and constants"


def _refuse(node: s.Node) -> ast.expr:
    raise NotInSql(node.start, _ONLY)


def _literal(value: Any, dialect: Dialect) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return dialect.words[0 if value else 1]
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)
