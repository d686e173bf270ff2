"""Have PostgreSQL compile the project's own SQL, on tables that are thrown away. Nothing runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check import CheckedProject
from bbops.compiler.check.statements import other_columns
from bbops.database.migrate.migrate import apply
from bbops.database.open import throw_away
from bbops.database.schema.place import PostgresPlace
from bbops.language.project import Resource
from bbops.language.resources.function import Function
from bbops.language.sql.own import OwnStatement
from bbops.language.sql.postgres import POSTGRES
from bbops.language.steps._base import mark_of
from bbops.language.steps._own_statement import cast, kind_of
from bbops.language.steps.sql import Sql


class Tried(NamedTuple):
    """A step with its statement, as it is written and as PostgreSQL takes it."""

    function: Resource[Function]
    step: Sql
    written: OwnStatement
    sent: OwnStatement


async def try_statements(project: CheckedProject, beside: PostgresPlace) -> Sequence[Diagnostic]:
    """Return what PostgreSQL has against the statements of the steps `sql`.

    The tables are made in a schema of their own, which is gone afterwards.

    Args:
        project: that was checked without mistakes.
        beside: a place of the database.

    Raises:
        DatabaseError: it cannot be reached, or lets us make no schema.
    """
    tried = [*_tried(project)]
    if not tried:
        return ()
    from bbops.database.postgres.reading import compiled  # noqa: PLC0415 - an extra

    with throw_away(beside) as place:
        apply(place, {name: table.model for name, table in project.tables.items()})
        texts = [numbered(one.sent) for one in tried]
        answers = await compiled(place, texts)  # type: ignore[arg-type]  # of PostgreSQL, too
    return [
        found for one, answer in zip(tried, answers, strict=True)
        for found in (
            other_columns(one.function, one.step, answer.columns, " on PostgreSQL")
            if not answer.complaint
            else (_refused(project, one, answer.complaint, answer.position),)
        )
    ]  # fmt: skip


def _tried(project: CheckedProject) -> Iterator[Tried]:
    for name, function in project.functions.items():
        scope = project.flows.of(name).scope
        for step in function.model.every_step:
            if isinstance(step, Sql):
                given = step.sql.params.items()
                kinds = {str(key): kind_of(value, scope) for key, value in given}
                written = step.own_on("postgres")
                yield Tried(function, step, written, cast(written, kinds, POSTGRES))


def numbered(own: OwnStatement) -> str:
    """Return the text of a statement with `$1` for its first parameter."""
    first, *rest = own.pieces
    return first + "".join(f"${at}{piece}" for at, piece in enumerate(rest, 1))


def offset_of(written: OwnStatement, sent: OwnStatement, position: int) -> int:
    """Return where in the written statement a position of the sent text is; both from 0."""
    start = offset = 0
    for at, piece in enumerate(written.pieces):
        if at:
            start += len(f"${at}") + len(sent.pieces[at]) - len(piece)
            if position < start:
                return offset
            offset += len(f":{written.names[at - 1]}")
        if position < start + len(piece):
            return offset + position - start
        start, offset = start + len(piece), offset + len(piece)
    return offset


def _refused(project: CheckedProject, one: Tried, complaint: str, position: int) -> Diagnostic:
    text = one.step.sql.statement.postgres
    place = one.function.at(mark_of(text), offset_of(one.written, one.sent, position))
    is_meant = project.settings.model.database.engine == "postgres"
    if is_meant or "" not in one.step.sql.statement.every:
        return Diagnostic(place, "sql", f"PostgreSQL says: {complaint}")
    return Diagnostic(
        place, "sql-one-database", f"only SQLite takes this: PostgreSQL says: {complaint}",
        "write 'statement: { sqlite: …, postgres: … }' to run on both", severity="warning",
    )  # fmt: skip
