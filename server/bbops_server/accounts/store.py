"""Open the control database, bring it to the newest schema, and give transactions.

All that only SQLite knows is here. Synchronous: call it from threads.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from bbops.errors import DatabaseError
from bbops.host import Clock
from bbops_server.accounts.proposal_tables import proposals, reviews
from bbops_server.accounts.tables import METADATA, schema_steps
from bbops_server.host.clock import SystemClock

FILE: Final = "control.sqlite"
_WAIT_SECONDS: Final = 10.0
_WRITES: Final = "is_writing"


def _first(connection: sa.Connection) -> None:
    METADATA.create_all(connection)


def _second(connection: sa.Connection) -> None:
    METADATA.create_all(connection, tables=[proposals, reviews])


STEPS: Final[tuple[Callable[[sa.Connection], None], ...]] = (_first, _second)
"""Each takes the schema one version further; a step that was published never changes."""


class Store:
    """The control database of one server. Several processes may have it open at once."""

    def __init__(self, engine: sa.Engine, clock: Clock) -> None:
        self._engine, self._clock = engine, clock

    @classmethod
    def open(cls, state: Path, clock: Clock | None = None) -> Store:
        """Open `control.sqlite` of a state folder, made for its owner alone.

        Raises:
            DatabaseError: it cannot be opened, or a newer bbops has written it.
        """
        path = state / FILE
        try:
            _make(path)
            engine = sa.create_engine(
                f"sqlite:///{path}", connect_args={"timeout": _WAIT_SECONDS}, pool_size=4,
                max_overflow=16,
            )  # fmt: skip
            sa.event.listen(engine, "connect", _prepare)
            sa.event.listen(engine, "begin", _begin)
            store = cls(engine, clock or SystemClock())
            store.bring_forward(str(path))
        except (OSError, sa.exc.DBAPIError) as error:
            reason = str(error.strerror if isinstance(error, OSError) else error.orig).lower()
            raise DatabaseError(
                f"cannot open the control database '{path}': {reason}",
                hint="it must be a file of this user, on a disk with room",
            ) from None
        return store

    def close(self) -> None:
        """Close its connections."""
        self._engine.dispose()

    def now(self) -> datetime:
        """Return the time, as the server's clock tells it."""
        return self._clock.now()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Give a transaction that changes nothing."""
        with self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Give a transaction that no other write can come between; undone by an exception."""
        connection = self._engine.connect().execution_options(**{_WRITES: True})
        with connection, connection.begin():
            yield connection

    def bring_forward(self, name: str) -> None:
        """Take the schema to the newest version; `name` is what errors call the database.

        Raises:
            DatabaseError: a newer bbops has written it.
        """
        with self.writing() as connection:
            schema_steps.create(connection, checkfirst=True)
            done = connection.scalar(sa.select(sa.func.max(schema_steps.c.number))) or 0
            if done > len(STEPS):
                raise DatabaseError(
                    f"'{name}' was written by a newer bbops", hint="install that version again"
                )
            for number, step in enumerate(STEPS[done:], done + 1):
                step(connection)
                connection.execute(schema_steps.insert().values(number=number, at=self.now()))


def _make(path: Path) -> None:
    """Make an empty database for its owner alone; one that is there must not be touched.

    To close a file ends every lock this process has on it: another process would take itself for
    the last one to use the database, and remove the log under our hands.
    Source: SQLite, "How To Corrupt An SQLite Database File" section 2.2.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _prepare(raw: sqlite3.Connection, _: Any) -> None:
    raw.isolation_level = None  # transactions begin where `_begin` says so
    for setting in ("journal_mode = WAL", "foreign_keys = ON", "synchronous = FULL"):
        with suppress(sqlite3.OperationalError):  # another process switches to WAL just now
            raw.execute(f"PRAGMA {setting}")


def _begin(connection: sa.Connection) -> None:
    # A read that becomes a write fails when another wrote meanwhile; a write says so at once.
    is_writing = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")
