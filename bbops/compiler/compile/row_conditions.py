"""Find what the database can ask of a change before it reports it, of `where` of triggers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bbops.compiler.check.triggers import find_outside
from bbops.database.schema.row_events import Condition, Conditions
from bbops.language.expressions.check import check_condition
from bbops.language.expressions.nodes import Node
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.values import Expression
from bbops.language.project import Project, Resource
from bbops.language.resources.trigger import DatabaseTrigger, Trigger
from bbops.language.sql.postgres import POSTGRES
from bbops.language.sql.row_conditions import Rows, write_row_condition
from bbops.language.sql.sqlite import SQLITE_CHECK
from bbops.language.sql.types import SqlTable
from bbops.runtime.work.rows import Operation

_SQLITE: Final[Mapping[Operation, Rows]] = {
    "insert": {"newRow": "NEW"}, "update": {"newRow": "NEW", "oldRow": "OLD"},
    "delete": {"oldRow": "OLD"},
}  # fmt: skip
_POSTGRES: Final[Mapping[Operation, Rows]] = {
    "insert": {"newRow": "n"}, "update": {"newRow": "n", "oldRow": "o"}, "delete": {"oldRow": "o"},
}  # fmt: skip
"""What the SQL triggers of a database call the rows."""


def find_conditions(
    project: Project, trigger: Resource[Trigger], database: DatabaseTrigger
) -> Conditions:
    """Return what `where` asks of each operation, as far as columns suffice."""
    outside, where = find_outside(project, trigger), database.where
    if outside is None or not isinstance(where, Expression):
        return {}
    scope = Scope(outside.names, lambda *_: None, columns=outside.columns, table=outside.table)
    check_condition(where, scope)
    table = project.stored_tables[database.table]
    every = {one: _condition(where.node, scope, table, one) for one in database.operation}
    return {one: condition for one, condition in every.items() if condition is not None}


def _condition(node: Node, scope: Scope, table: SqlTable, operation: Operation) -> Condition | None:
    sqlite = write_row_condition(node, scope, table.columns, _SQLITE[operation], SQLITE_CHECK)
    postgres = write_row_condition(node, scope, table.columns, _POSTGRES[operation], POSTGRES)
    if sqlite is None or postgres is None:
        return None
    return Condition(sqlite.sql, postgres.sql, tuple(sqlite.reads.items()))
