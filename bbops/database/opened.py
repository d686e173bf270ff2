"""Open a database for a migration: to look at its tables, or to change them as the only one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Protocol

from bbops.database.connection import connect
from bbops.database.gate import Gate
from bbops.database.keep import keep_copy
from bbops.database.live_tables import LiveTables
from bbops.database.sqlite_tables import SqliteTables
from bbops.errors import DatabaseError


class Opened(Protocol):
    """A database that nobody else migrates."""

    live: LiveTables

    def keep(self, name: str) -> object:
        """Keep a copy of all data, told apart by a name, before something of it is lost."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Return a transaction: what is done within is done wholly or not at all."""
        ...


@contextmanager
def read_tables(place: Path) -> Iterator[LiveTables]:
    """Yield the tables of a database, to look at; it stays as it is, also when it is missing.

    Raises:
        DatabaseError: it cannot be read.
    """
    missing = not place.exists()
    with (
        closing(_in_memory() if missing else connect(place, reads=True)) as connection,
        _telling(f"cannot read database '{place}'"),
    ):
        yield SqliteTables(connection)


@contextmanager
def write_tables(place: Path) -> Iterator[Opened]:
    """Yield a database to change; waits for those that change it now. A missing file is made.

    Raises:
        DatabaseError: it cannot be written.
    """
    gate = Gate(place)
    with (
        closing(gate), gate, closing(connect(place, create=True)) as connection,
        _telling(f"cannot migrate database '{place}'"),
    ):  # fmt: skip
        # tables are made and seeded in any order; the check at the end is of everything
        connection.execute("PRAGMA foreign_keys = OFF")
        yield _OpenedFile(place, connection)


class _OpenedFile:
    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.live: LiveTables = SqliteTables(connection)
        self._path, self._connection = path, connection

    def keep(self, name: str) -> object:
        return keep_copy(self._connection, self._path, name)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.rollback()
            raise


def _in_memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


@contextmanager
def _telling(what: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise DatabaseError(f"{what}: {error}") from error
