"""Find which changes of rows a project waits for, in triggers and topics, and which columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial, reduce
from typing import Final

from bbops.compiler.compile.row_conditions import find_conditions
from bbops.database.schema.row_events import RowEvents, join
from bbops.language.expressions.nodes import Logic, names_in
from bbops.language.expressions.values import Expression
from bbops.language.project import Project, Resource
from bbops.language.resources.realtime import Rows
from bbops.language.resources.trigger import DatabaseTrigger, Trigger
from bbops.language.sql.types import SqlColumn, SqlTable
from bbops.runtime.work.rows import OPERATIONS

_ANY: Final = re.compile(r"\btrigger\b")
_ONE: Final = re.compile(
    r"\btrigger\s*(?:\?\.|\.)\s*(?:newRow|oldRow)\s*(?:\?\.|\.)\s*([A-Za-z_][A-Za-z0-9_]*)"
)


def find_row_events(project: Project) -> Mapping[str, RowEvents]:
    """Return what the database is to tell, by table. O(triggers, and the texts of functions)."""
    found: Mapping[str, RowEvents] = {}
    for trigger in project.triggers.values():
        database = trigger.model.database
        if database is not None and trigger.model.enabled:
            columns = read_columns(project, trigger, database)
            asked = find_conditions(project, trigger, database)
            found = join(found, {database.table: RowEvents.of(database.operation, columns, asked)})
    for agent in project.agents.values():
        database = agent.model.runs_on.database
        if database is not None and agent.model.enabled:
            told = RowEvents.of(database.operation, shown_columns(project, database))
            found = join(found, {database.table: told})
    for realtime in project.realtime.values():
        rows = realtime.model.rows
        if rows is not None:
            events = RowEvents.of(OPERATIONS, topic_columns(project, rows))
            found = join(found, {rows.table: events})
    return found


def seen_where(table: SqlTable, rows: Rows) -> Expression | None:
    """Return what a subscriber's rows meet: `where` and the rules of the table; None for all."""
    every = [rows.where] if isinstance(rows.where, Expression) else []
    every += table.seen
    if not every:
        return None
    return Expression(reduce(partial(Logic, 0, 0, "and"), (one.node for one in every)))


def topic_columns(project: Project, rows: Rows) -> Mapping[str, SqlColumn]:
    """Return the columns of its rows that a topic reads: the key, those shown, what decides."""
    table = project.stored_tables[rows.table]
    where = seen_where(table, rows)
    wanted = {*table.key, *rows.select, *(names_in(where.node) if where else ())}
    return {name: one for name, one in table.columns.items() if name in wanted}


def shown_columns(project: Project, database: DatabaseTrigger) -> Mapping[str, SqlColumn]:
    """Return the columns of changed rows that an agent sees, and those of `where`.

    Private columns are left out, unless `where` reads them; no run shows them to the model.
    """
    private = {
        name for name, column in project.tables[database.table].model.columns.items()
        if column.private
    }  # fmt: skip
    if isinstance(database.where, Expression):
        private -= {*names_in(database.where.node)}
    columns = project.stored_tables[database.table].columns
    return {name: column for name, column in columns.items() if name not in private}


def read_columns(
    project: Project, trigger: Resource[Trigger], database: DatabaseTrigger
) -> Mapping[str, SqlColumn]:
    """Return the columns that a trigger reads: in `where`, for its keys, or in its function.

    All of them where the function hands on a row as a whole.
    """
    columns = project.stored_tables[database.table].columns
    source = project.functions[trigger.model.function].document.source
    named, model = _ONE.findall(source), trigger.model
    if len(_ANY.findall(source)) > len(named):
        return columns
    keys = [one.key for one in (model.lane, model.unique, model.debounce) if one]
    asked = [one for one in (database.where, *keys) if isinstance(one, Expression)]
    wanted = {*named, *(name for one in asked for name in names_in(one.node))}
    return {name: one for name, one in columns.items() if name in wanted}
