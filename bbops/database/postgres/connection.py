"""Connections to PostgreSQL: their settings, their codecs, and their end."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, Literal, TypeAlias

import asyncpg

from bbops.base.errors import DatabaseError
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


# ---- How values travel on a connection of ours, where asyncpg's own way is not SQLite's
# uuid and time are texts as SQLite stores them. asyncpg takes the first and the last day that
# Python knows for -infinity and infinity, which have no text; ours stay days.

_FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_FIRST_DAY: Final = _FIRST.toordinal()
_TICK: Final = timedelta(microseconds=1)


async def use_codecs(connection: asyncpg.Connection) -> None:
    """Teach a new connection all of them; asks the server for the number of each type."""
    for name, format_, encoder, decoder in (
        ("uuid", "binary", _uuid_bytes, _uuid_text),
        ("time", "text", str, _time_text),
        ("date", "tuple", _days, _date),
        ("timestamptz", "tuple", _ticks, _moment),
    ):
        await connection.set_type_codec(
            name, schema="pg_catalog", format=format_, encoder=encoder, decoder=decoder
        )


def _uuid_bytes(value: str) -> bytes:
    return bytes.fromhex(value.replace("-", ""))


def _uuid_text(value: bytes) -> str:
    found = value.hex()
    return f"{found[:8]}-{found[8:12]}-{found[12:16]}-{found[16:20]}-{found[20:]}"


def _time_text(value: str) -> str:
    return time.fromisoformat(value).isoformat()


def _days(value: date) -> tuple[int]:
    return (value.toordinal() - _FIRST_DAY,)


def _date(value: tuple[Any]) -> date:
    return date.fromordinal(value[0] + _FIRST_DAY)


def _ticks(value: datetime) -> tuple[int]:
    return ((value - _FIRST) // _TICK,)


def _moment(value: tuple[Any]) -> datetime:
    return _FIRST + timedelta(microseconds=value[0])


# ---- Let PostgreSQL end a statement soon after its client process is gone
# By default a backend checks its connection only between statements: a long statement without a
# client continues, and keeps its locks.

CHECK_SECONDS: Final = 1
"""The interval at which a busy backend checks its client."""

END_WITH_CLIENT: Final = f"""
SELECT set_config(name, value, false) FROM (VALUES
  ('client_connection_check_interval', '{CHECK_SECONDS}s'),
  ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3')
) AS setting (name, value)
WHERE name LIKE 'tcp%' OR version() LIKE '%linux%'
"""
"""Run once on each connection. The keepalives detect a machine that vanished silently.

Source: PostgreSQL, "Connection Settings": the check works where the kernel reports a closed socket.
"""
