"""The control database as a SQLite file: what only SQLite knows."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from bbops.base.disk import make_private
from bbops.base.errors import DatabaseError

FILE: Final = "control.sqlite"
WRITES: Final = "is_writing"
"""The option of a connection whose transaction no other write may come between."""
_WAIT_SECONDS: Final = 10.0


def open_file(path: Path) -> sa.Engine:
    """Return the engine of a file, made for its owner alone.

    Raises:
        DatabaseError: it cannot be made.
    """
    try:
        make_private(path)
    except OSError as error:
        raise cannot_open(path, error.strerror) from None
    engine = sa.create_engine(
        f"sqlite:///{path}", connect_args={"timeout": _WAIT_SECONDS}, pool_size=4, max_overflow=16
    )
    sa.event.listen(engine, "connect", _prepare)
    sa.event.listen(engine, "begin", _begin)
    return engine


def cannot_open(path: Path, reason: object) -> DatabaseError:
    """Return what to raise when a file is no control database of ours."""
    return DatabaseError(
        f"cannot open the control database '{path}': {str(reason).lower()}",
        hint="this user must be able to read and write it, and the disk needs free space",
    )


def _prepare(raw: sqlite3.Connection, _: Any) -> None:
    raw.isolation_level = None  # transactions begin where `_begin` says so
    for setting in ("journal_mode = WAL", "foreign_keys = ON", "synchronous = FULL"):
        with suppress(sqlite3.OperationalError):  # another process switches to WAL just now
            raw.execute(f"PRAGMA {setting}")


def _begin(connection: sa.Connection) -> None:
    # A read that becomes a write fails when another wrote meanwhile; a write says so at once.
    is_writing = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")
