"""Open the database that a project is served from, whichever kind it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bbops.database.place import Place
from bbops.database.sqlite import Sqlite
from bbops.errors import DatabaseError

if TYPE_CHECKING:
    from bbops.database.postgres.driver import Postgres


async def open_database(
    place: Place, *, durability: Literal["normal", "full"] = "normal"
) -> Sqlite | Postgres:
    """Open a file or a schema; both are the door `bbops.host.Database`.

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
