"""The rules of tables as SQL: the visible rows of a statement, and the test of a written row."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from typing import Final

from bbops.language.expressions import nodes as s
from bbops.language.expressions.nodes import names_in
from bbops.language.expressions.values import Expression, Value
from bbops.language.sql.computed import selected
from bbops.language.sql.dialect import Template, commas, seq
from bbops.language.sql.query import Query, flatten
from bbops.language.sql.types import SqlTable
from bbops.runtime.values.identifiers import quote

_ASKING: Final = (["auth"], ["apiKey"])


def with_visible(query: Query, statement: Template) -> Template:
    """Return a statement after the visible rows of each table with rules that it reads."""
    return seq(named, statement) if (named := visible(query)) else statement


def visible(query: Query) -> Template:
    """Return the visible rows of each table with rules that a statement reads, as WITH."""
    return seq("WITH ", named, " ") if (named := named_rows(query)) else ""


def named_rows(query: Query) -> Template:
    """Return the visible rows by their names, with commas between them."""
    found, done = query.visible.found, dict[str, Template]()
    while len(done) < len(found):  # a rule reads other tables
        for name, table in [*found.items()]:
            if name not in done:
                columns, stored = selected(table, query.dialect), query.visible.stored(table)
                rows = seq(f"SELECT {columns} FROM {stored} WHERE ", seen(query, table))
                done[name] = seq(f"{name} AS NOT MATERIALIZED (", rows, ")")
    if not done:
        return ""
    # the tables that a rule reads are named before the table of the rule
    order = sorted(done, key=lambda name: bool(_access(found[name], "read")))
    return commas([done[name] for name in order])


def seen(query: Query, table: SqlTable, *operations: str) -> Template:
    """Return the condition of the rows of a table that a statement sees.

    Args:
        operations: the statement's operations on them, apart from reading.
    """
    scope = list(table.rules.scope) if table.rules is not None else []
    return _all(query, table, [*scope, *_access(table, "read", *operations)])


def allowed(query: Query, table: SqlTable, *operations: str) -> Template | None:
    """Return the condition on a written row, scope aside; None if every row may be written."""
    conditions = _access(table, *operations)
    return _all(query, table, conditions) if conditions else None


def _access(table: SqlTable, *operations: str) -> list[Expression]:
    return [] if table.rules is None else table.rules.of(*operations)


def _all(query: Query, table: SqlTable, conditions: list[Expression]) -> Template:
    if table.rules is None or not conditions:
        return query.dialect.words[0]
    inner = copy(query)  # its parameters and switches are the statement's
    inner.table = inner_table = table.rules.within[table.name]
    inner.alias, inner.outer, inner.bare = quote(inner_table.name), inner, True
    inner.bare_alias = inner.alias
    inner.live, inner.joins = [], None
    return ("and", *(inner.condition(condition.node) for condition in conditions))


def is_touched(table: SqlTable, condition: Expression, written: Collection[str]) -> bool:
    """Return whether written columns may change the result of a rule on their row."""
    return not _reads(table, condition).isdisjoint(written)


def reads_again(table: SqlTable, *operations: str) -> bool:
    """Return whether rules of a table read it again, through relations."""
    return any(
        table.name in table.reachable(set(names_in(condition.node)))
        for condition in _access(table, *operations)
    )


def _reads(table: SqlTable, condition: Expression) -> set[str]:
    """Return the columns of its row that a rule may read; perhaps some more."""
    names = set(names_in(condition.node))
    computed = (table.columns[name].computed for name in names & table.columns.keys())
    names |= {
        name
        for expression in computed
        if expression is not None
        for name in names_in(expression.node)
    }
    names |= {relation.column for name, relation in table.relations.items() if name in names}
    return names | {child.key for name, child in table.children.items() if name in names}


def meets(table: SqlTable, condition: Expression, given: Mapping[str, Value]) -> bool:
    """Return whether a row with these values meets a rule for every caller."""
    return all(
        isinstance(part, s.Compare) and part.op == "==" and (
            _is_given(table, part.left, part.right, given)
            or _is_given(table, part.right, part.left, given)
        )
        for part in flatten(condition.node, "and")
    )  # fmt: skip


def _is_given(table: SqlTable, column: s.Node, value: s.Node, given: Mapping[str, Value]) -> bool:
    if not isinstance(column, s.Name) or column.name not in table.columns:
        return False
    found = given.get(column.name)
    return isinstance(found, Expression) and _who(found.node) == _who(value) != ()


def _who(node: s.Node) -> tuple[str, ...]:
    """Return the names of `vars.auth.userId`, however null is treated; else nothing."""
    names = list[str]()
    while isinstance(node, s.Member):
        names.insert(0, node.name)
        node = node.of
    is_asking = isinstance(node, s.Name) and node.name == "vars" and names[:1] in _ASKING
    return tuple(names) if is_asking else ()
