"""Open a database for a migration: to read its tables, or to change them exclusively."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from bbops.base.errors import DatabaseError
from bbops.database.diff.changes import Change
from bbops.database.diff.live_tables import LiveTables
from bbops.database.files.backup import keep_copy
from bbops.database.schema import shape
from bbops.database.schema.place import Place
from bbops.database.schema.shape import Difference
from bbops.database.sqlite.connection import connect
from bbops.database.sqlite.gate import Gate
from bbops.database.sqlite.limits import LONGEST_VALUE_BYTES
from bbops.database.sqlite.tables import SqliteTables

T = TypeVar("T")


class Opened(Protocol):
    """A database that is open for one migration only."""

    live: LiveTables

    def look(self, work: Callable[[], T]) -> T:
        """Run work that only reads."""
        ...

    def keep(self, name: str, tables: Collection[str]) -> None:
        """Keep copies of these tables under a name, before a loss."""
        ...

    def limit(self, until: float) -> None:
        """Make work fail at this time of the monotonic clock."""
        ...

    def prepare(self, differences: Collection[Difference], want: shape.Shape) -> None:
        """Prepare as much as possible before the transaction."""
        ...

    def transact(self, work: Callable[[], T]) -> T:
        """Run work wholly or not at all; it may be retried."""
        ...

    def validate(self, give_up: Callable[[], None]) -> tuple[Change, ...]:
        """Finish after the transaction: check rows that are older than their rules.

        The work is repeatable: after a crash, the next process continues it.

        Args:
            give_up: records, in the transaction that takes rules back.

        Returns:
            The rules that newly written rows break; they are taken back.
        """
        ...


@contextmanager
def read_tables(place: Place) -> Iterator[LiveTables]:
    """Yield the tables of a database for reading; it stays unchanged, also if it is missing.

    Raises:
        DatabaseError: it cannot be read.
    """
    if not isinstance(place, Path):
        from bbops.database.postgres import opened  # noqa: PLC0415 - its drivers are an extra

        with opened.read_tables(place) as live:
            yield live
        return
    missing = not place.exists()
    with (
        closing(_in_memory() if missing else connect(place, reads=True)) as connection,
        _telling(f"cannot read database '{place}'"),
    ):
        # the cost of a rule on a value has no bound, and the rule is not reviewed yet
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE_BYTES)
        yield SqliteTables(connection)


@contextmanager
def write_tables(place: Place) -> Iterator[Opened]:
    """Yield a database for changes; waits for other migrations. A missing file is created.

    Raises:
        DatabaseError: it cannot be written.
    """
    if not isinstance(place, Path):
        from bbops.database.postgres import opened  # noqa: PLC0415 - its drivers are an extra

        with opened.write_tables(place) as found:
            yield found
        return
    gate = Gate(place)
    with (
        closing(gate), gate, closing(connect(place, create=True)) as connection,
        _telling(f"cannot migrate database '{place}'"),
    ):  # fmt: skip
        # tables are made and seeded in any order; the check at the end covers everything
        connection.execute("PRAGMA foreign_keys = OFF")
        yield _OpenedFile(place, connection)


class _OpenedFile:
    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.live: LiveTables = SqliteTables(connection)
        self._path, self._connection = path, connection

    def look(self, work: Callable[[], T]) -> T:
        return work()

    def keep(self, name: str, tables: Collection[str]) -> None:
        del tables  # a file is kept whole
        keep_copy(self._connection, self._path, name)

    def limit(self, until: float) -> None:
        self.live.limit(until)

    def prepare(self, differences: Collection[Difference], want: shape.Shape) -> None:
        """Do nothing: writers wait for the gate anyway."""

    def transact(self, work: Callable[[], T]) -> T:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            done = work()
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.rollback()
            raise
        return done

    def validate(self, give_up: Callable[[], None]) -> tuple[Change, ...]:
        del give_up  # the transaction has rewritten the rows under their rules
        return ()


def _in_memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


@contextmanager
def _telling(what: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise DatabaseError(f"{what}: {error}") from error
