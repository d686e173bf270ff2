"""Have a server compile statements: what is wrong with them, and where; what columns they give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import asyncpg

from bbops.database.postgres.connection import connect
from bbops.database.schema.place import PostgresPlace


class Answer(NamedTuple):
    """What a server says of a statement.

    Attributes:
        complaint: its words; empty where the statement compiles.
        position: the character they are about, from 0.
        columns: that it gives.
    """

    complaint: str
    position: int = 0
    columns: tuple[str, ...] = ()


async def compiled(place: PostgresPlace, statements: Sequence[str]) -> list[Answer]:
    """Return what the server says of each statement. Nothing runs."""
    connection = await connect(place, reads=True)
    try:
        return [await _compiled(connection, one) for one in statements]
    finally:
        await connection.close()


async def _compiled(connection: asyncpg.Connection, statement: str) -> Answer:
    try:
        prepared = await connection.prepare(statement)
    except asyncpg.PostgresError as error:
        position = getattr(error, "position", None)
        return Answer(str(error).partition("\n")[0], int(position or 1) - 1)
    return Answer("", columns=tuple(one.name for one in prepared.get_attributes()))
