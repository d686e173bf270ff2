"""How values travel on a connection of ours, where asyncpg's own way is not SQLite's.

uuid and time are texts as SQLite stores them. asyncpg takes the first and the last day that Python
knows for -infinity and infinity, which have no text; ours stay days.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

import asyncpg

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
