"""Open the database that a project is served from, whichever kind it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal, TypeAlias

from bbops.base.errors import DatabaseError
from bbops.database.schema.place import Place
from bbops.database.sqlite.driver import Sqlite
from bbops.database.sqlite.work import SqliteWork

if TYPE_CHECKING:
    from bbops.database.postgres.driver import Postgres
    from bbops.runtime.work.statements import WorkDialect

Opened: TypeAlias = "Sqlite | Postgres"
"""Both are the door `bbops.base.host.Database`, and know `prepare` and `close`."""


async def open_database(
    place: Place, *, durability: Literal["normal", "full"] = "normal"
) -> Opened:
    """Open a file or a schema; both are the door `bbops.base.host.Database`.

    Args:
        durability: `full`: what was committed survives a power cut.

    Raises:
        DatabaseError: it cannot be opened, or what opens it is not installed.
    """
    if isinstance(place, Path):
        return await Sqlite.open(place, durability=durability)
    try:
        from bbops.database.postgres.driver import Postgres  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        if error.name != "asyncpg":
            raise
        hint = "pip install 'bbops[postgres]'"
        raise DatabaseError("a PostgreSQL database needs asyncpg", hint=hint) from None
    return await Postgres.open(place, durability=durability)


@contextmanager
def throw_away(beside: Place) -> Iterator[Place]:
    """Yield an empty database of the same kind that is gone afterwards.

    Raises:
        DatabaseError: PostgreSQL cannot be reached, or lets us make no schema.
    """
    if isinstance(beside, Path):
        with TemporaryDirectory(prefix="bbops-rehearsal-") as folder:
            yield Path(folder) / "data.sqlite"
        return
    from bbops.database.postgres.opened import drop_schema  # noqa: PLC0415 - an extra

    place = replace(beside, schema=f"_bbops_{token_hex(8)}")
    try:
        yield place
    finally:
        drop_schema(place)


def work_dialect(of: Opened) -> WorkDialect:
    """Return how the queue of jobs speaks to a database that is open."""
    if isinstance(of, Sqlite):
        return SqliteWork()
    from bbops.database.postgres.work import PostgresWork  # noqa: PLC0415 - an extra

    return PostgresWork()
