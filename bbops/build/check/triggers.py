"""Conditions of triggers, over the rows they are about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bbops.base.diagnostics import Diagnostic
from bbops.build.check._outside import Outside
from bbops.build.check._ways import rows_of
from bbops.language.project import Project, Resource
from bbops.language.resources.trigger import DatabaseTrigger


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield mistakes in `where` of triggers and of agents that run on changed rows."""
    for trigger in project.triggers.values():
        yield from _where(project, trigger, trigger.model.database, "database")
    for agent in project.agents.values():
        yield from _where(project, agent, agent.model.runs_on.database, "runsOn", "database")


def _where(
    project: Project, resource: Resource[Any], database: DatabaseTrigger | None, *path: str
) -> Iterator[Diagnostic]:
    """A bare column is that of the new row, of the old one where there is no new."""
    if database is None or database.where is None or database.table not in project.sql_tables:
        return
    rows = rows_of(project, database).fields or {}
    table = project.sql_tables[database.table]
    outside = Outside(resource, rows, table.column_types, table.name)
    outside.condition(database.where, *path, "where")
    yield from outside.found
