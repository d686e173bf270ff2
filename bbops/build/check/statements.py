"""An author's own SQL must fit the tables: SQLite itself says whether it does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from bbops.base.diagnostics import Diagnostic
from bbops.database.sqlite.trial import Trial
from bbops.language.project import Project
from bbops.language.steps._base import mark_of
from bbops.language.steps.sql import Sql


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield each statement that SQLite refuses. Costs nothing where there are none.

    What is written for PostgreSQL only PostgreSQL can try, as it does before it is served.
    """
    if project.settings.model.database.engine == "postgres":
        return
    found = [
        (function, step) for function in project.functions.values()
        for step in function.model.every_step if isinstance(step, Sql)
    ]  # fmt: skip
    if not found or any(folder == "tables" for folder, _ in project.broken):
        return
    with closing(Trial(project.sql_tables)) as trial:
        for function, step in found:
            own = step.own
            complaint = "" if own.problem else trial.complaint(own.sql)
            if complaint:
                place = function.at(mark_of(step.sql.statement), 0)
                yield Diagnostic(place, "sql", complaint)
