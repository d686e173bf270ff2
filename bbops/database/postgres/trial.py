"""Have a server compile statements: their mistakes with positions, and their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import asyncpg

from bbops.database.postgres.connection import connect
from bbops.database.schema.place import PostgresPlace


class CompileResult(NamedTuple):
    """The server's verdict on a statement.

    Attributes:
        complaint: the error message; empty if the statement compiles.
        position: the offset of the mistake.
        columns: the columns of its result.
    """

    complaint: str
    position: int = 0
    columns: tuple[str, ...] = ()


async def compiled(place: PostgresPlace, statements: Sequence[str]) -> list[CompileResult]:
    """Return the server's verdict on each statement. Nothing runs."""
    connection = await connect(place, reads=True)
    try:
        return [await _compiled(connection, statement) for statement in statements]
    finally:
        await connection.close()


async def _compiled(connection: asyncpg.Connection, statement: str) -> CompileResult:
    try:
        prepared = await connection.prepare(statement)
    except asyncpg.PostgresError as error:
        position = getattr(error, "position", None)
        return CompileResult(str(error).partition("\n")[0], int(position or 1) - 1)
    return CompileResult(
        "", columns=tuple(attribute.name for attribute in prepared.get_attributes())
    )
