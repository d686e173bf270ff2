"""An author's own SQL must fit the tables: SQLite itself says whether it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

from bbops.base.diagnostics import Diagnostic, Place, suggest
from bbops.database.sqlite.trial import TrialDatabase
from bbops.language.project import Project, Resource
from bbops.language.resources.function import Function
from bbops.language.sql.own import OwnStatement
from bbops.language.sql.own_rules import past_rules, tried
from bbops.language.steps._base import mark_of
from bbops.language.steps.sql import Sql
from bbops.runtime.values.identifiers import quote


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
    with closing(TrialDatabase(project.stored_tables)) as trial:
        for function, step in found:
            own = step.own
            complaint = "" if own.problem else trial.complaint(own.sql)
            place = function.at(mark_of(step.sql.statement.sqlite), 0)
            if complaint:
                yield Diagnostic(place, "sql", complaint)
                continue
            yield from _columns(function, step, trial)
            names = [] if own.problem else step.ruled(step.seen(project.sql_tables), "sqlite")
            if names and not any(past_rules(step.sql.statement.sqlite, name) for name in names):
                yield from _past_rules(project, own, names, place)


def _columns(function: Resource[Function], step: Sql, trial: TrialDatabase) -> Iterator[Diagnostic]:
    """Yield that a statement that reads gives other columns than it says."""
    own = step.own
    given = None if own.problem else trial.columns(own.sql, len(own.names))
    if given is not None:
        yield from other_columns(function, step, given)


def other_columns(
    function: Resource[Function], step: Sql, given: Sequence[str], where: str = ""
) -> Iterator[Diagnostic]:
    """Yield each column that a statement gives or says, and not both.

    Args:
        where: the database that was asked, as a message says it: " on PostgreSQL".
    """
    said = step.sql.columns
    for name in dict.fromkeys((*said, *given)) if said else ():
        if (name in said) != (name in given):
            message = f"the statement gives no column '{name}'{where}"
            hint = suggest(name, given) or f"it gives {', '.join(given)}"
            if name in given:
                message = (
                    f"the statement gives column '{name}'{where}, which 'columns' does not have"
                )
                hint = "add its type, or leave it out of the statement"
            yield Diagnostic(function.at(step.place("columns")), "sql-columns", message, hint)


def _past_rules(
    project: Project, own: OwnStatement, names: Sequence[str], place: Place
) -> Iterator[Diagnostic]:
    """Yield a statement that SQLite compiles only where tables with rules are within its reach."""
    elsewhere = {name: quote(f"{name} elsewhere") for name in names}
    with closing(TrialDatabase(project.stored_tables, elsewhere)) as trial:
        complaint = trial.complaint(tried(own, elsewhere))
    if complaint:
        yield Diagnostic(
            place, "sql-past-rules",
            f"the statement does not keep to the rules of '{names[0]}': {complaint}",
            "use 'find' or another step",
        )  # fmt: skip
