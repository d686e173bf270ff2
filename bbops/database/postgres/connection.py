"""Open connections to a PostgreSQL server with the settings of bbops."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import asyncpg

from bbops.base.errors import DatabaseError
from bbops.database.postgres.codecs import use_codecs
from bbops.database.postgres.ending import END_WITH_CLIENT
from bbops.database.schema.place import PostgresPlace

Connection: TypeAlias = asyncpg.Connection

OLDEST: Final = 14
CONNECT_SECONDS: Final = 5.0
LONGEST_STATEMENT_SECONDS: Final = 300
"""A backstop for statements whose request no longer waits, beside the requests' own limits."""
_KEPT_STATEMENTS: Final = 1_000
_CASE: Final = ((18, '"pg_unicode_fast"'), (17, '"pg_c_utf8"'), (0, '"und-x-icu"'))


async def connect(
    place: PostgresPlace, *, reads: bool = False, durability: Literal["normal", "full"] = "normal"
) -> Connection:
    """Open a connection; see `codecs` for its values.

    Args:
        reads: refuses to write.
        durability: `full` waits for the disk at each commit, whatever the server's setting.

    Raises:
        DatabaseError: the server is too old, or its encoding is not UTF-8.
        OSError, asyncpg.PostgresError: it cannot be reached, or refuses the connection.
    """
    settings = {
        "application_name": "bbops", "timezone": "UTC", "jit": "off", "extra_float_digits": "1",
        "statement_timeout": f"{LONGEST_STATEMENT_SECONDS}s",
        "idle_in_transaction_session_timeout": f"{LONGEST_STATEMENT_SECONDS}s",
        "default_transaction_read_only": "on" if reads else "off",
    }  # fmt: skip
    if durability == "full":
        settings["synchronous_commit"] = "on"
    connection = await asyncpg.connect(
        place.address, timeout=CONNECT_SECONDS, server_settings=settings,
        statement_cache_size=_KEPT_STATEMENTS, max_cached_statement_lifetime=0,
        max_cacheable_statement_size=0,
    )  # fmt: skip
    try:
        _check_server(connection, place)
        await connection.execute(END_WITH_CLIENT)
        await use_codecs(connection)
    except BaseException:
        connection.terminate()
        raise
    return connection


def case_collation(connection: Connection) -> str:
    """Return the collation with the server's best rules for upper and lower case."""
    version = connection.get_server_version().major
    return next(name for since, name in _CASE if version >= since)


def _check_server(connection: Connection, place: PostgresPlace) -> None:
    version = connection.get_server_version()
    if version.major < OLDEST:
        message = f"PostgreSQL {version.major} is too old, expected {OLDEST} or newer"
        raise DatabaseError(f"cannot open {place}: {message}")
    encoding = connection.get_settings().server_encoding
    if encoding != "UTF8":
        message = f"its encoding is {encoding}, expected UTF8"
        raise DatabaseError(
            f"cannot open {place}: {message}", hint="make it with CREATE DATABASE … ENCODING 'UTF8'"
        )
