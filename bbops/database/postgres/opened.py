"""Open a PostgreSQL schema for a migration; the first migration creates the schema."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any, Final, TypeVar

import psycopg

from bbops.base.errors import DatabaseError, MigrationRefused
from bbops.database.diff.changes import Change
from bbops.database.diff.live_tables import LiveTables
from bbops.database.postgres.alter import PASSING
from bbops.database.postgres.connection import END_WITH_CLIENT
from bbops.database.postgres.ddl import create_index, note_where
from bbops.database.postgres.tables import PostgresTables
from bbops.database.postgres.validate import clean, forbid_null, validate
from bbops.database.schema import shape
from bbops.database.schema.place import PostgresPlace
from bbops.database.schema.shape import Difference

_LOCK_SECONDS: Final = 5.0
_TRIES: Final = 6
_CONNECT_SECONDS: Final = 10
_SETTINGS: Final = "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET IntervalStyle = 'postgres'"

T = TypeVar("T")


@contextmanager
def read_tables(place: PostgresPlace) -> Iterator[LiveTables]:
    """Yield the tables of a schema for reading; see `bbops.database.migrate.opened`."""
    with _connected(place) as live:
        try:
            with live.transaction(force_rollback=True):
                yield PostgresTables(live, place.schema)
        except psycopg.Error as error:
            raise _failed(f"cannot read {place}", error) from None


@contextmanager
def write_tables(place: PostgresPlace) -> Iterator[OpenedSchema]:
    """Yield a schema for changes; waits for other migrations."""
    with _connected(place) as live:
        try:
            live.execute(f'CREATE SCHEMA IF NOT EXISTS "{place.schema}"'.encode())
            live.execute("SELECT pg_advisory_lock(hashtext(%s))", (f"bbops:{place.schema}",))
            yield OpenedSchema(place, live)
        except psycopg.Error as error:
            raise _failed(f"cannot migrate {place}", error) from None


def drop_schema(place: PostgresPlace) -> None:
    """Delete a schema with all of its content; a missing schema is fine."""
    with _connected(place) as live:
        try:
            live.execute(f'DROP SCHEMA IF EXISTS "{place.schema}" CASCADE'.encode())
        except psycopg.Error as error:
            raise _failed(f"cannot delete {place}", error) from None


class OpenedSchema:
    """A schema that is open for one migration only."""

    def __init__(self, place: PostgresPlace, connection: psycopg.Connection[Any]) -> None:
        self.live: LiveTables = PostgresTables(connection, place.schema)
        self._connection, self._until = connection, inf

    def look(self, work: Callable[[], T]) -> T:
        """Run work that changes nothing in a transaction that is rolled back."""
        with self._connection.transaction(force_rollback=True):
            return work()

    def keep(self, name: str, tables: Collection[str]) -> None:
        """Keep copies of these tables: `_before_<name>_<table>`, which no release declares."""
        with self._connection.transaction():
            for table in tables:
                copy = f"_before_{name}_{table}"[:63]
                self._connection.execute(f'DROP TABLE IF EXISTS "{copy}"'.encode())
                self._connection.execute(f'CREATE TABLE "{copy}" AS TABLE "{table}"'.encode())

    def limit(self, until: float) -> None:
        """Make statements fail at this time, and retry nothing after it."""
        self._until = until
        self.live.limit(until)

    def prepare(self, differences: Collection[Difference], want: shape.Shape) -> None:
        """Create new indexes, and search for nulls that will be forbidden, beside writers.

        Missing and rewritten tables are left to the transaction.
        """
        have = self.look(self.live.read)
        rewritten = {
            difference.table for difference in differences if difference.kind in {"type", "key"}
        }
        known = [
            difference for difference in differences if difference.table in have.keys() - rewritten
        ]
        for difference in known:
            if difference.kind == "add index":
                index = want[difference.table].indexes[difference.what]
                if index.reads <= have[difference.table].columns.keys():
                    self._build(difference.table, difference.what, index)
        for table in sorted(
            {difference.table for difference in known if difference.kind == "null"}
        ):
            columns = [
                name for name, column in have[table].columns.items()
                if column.nullable and name in want[table].columns
                and not want[table].columns[name].nullable
            ]  # fmt: skip
            if columns:
                forbid_null(self._connection, self.transact, table, columns)

    def transact(self, work: Callable[[], T]) -> T:
        """Run work in one transaction, and retry it after conflicts with other sessions.

        Raises:
            DatabaseError: a lock was not available within half a minute, or the limit; or each
                attempt fails with an internal error of the server.
        """
        found: psycopg.Error | None = None
        for tried in range(_TRIES):
            try:
                with self._connection.transaction():
                    left = min(_LOCK_SECONDS, self._until - time.monotonic())
                    milliseconds = max(1, round(1000 * left))
                    self._connection.execute(f"SET LOCAL lock_timeout = {milliseconds}".encode())
                    return work()
            except PASSING as passing:
                found = passing
                if time.monotonic() > self._until:
                    break
                time.sleep(0.1 * 2**tried)  # waiting sessions continue meanwhile
        if isinstance(found, psycopg.errors.InternalError_):
            raise DatabaseError(f"PostgreSQL failed: {found.diag.message_primary}") from None
        raise DatabaseError(
            "a table stays locked by another transaction",
            hint="find it in pg_stat_activity and end it; the migration is retried",
        )

    def validate(self, give_up: Callable[[], None]) -> tuple[Change, ...]:
        """Check the rows that are older than a rule, beside writers."""
        clean(self._connection, self.transact)
        return validate(self._connection, self.transact, give_up)

    def _build(self, table: str, name: str, index: shape.Index) -> None:
        self._connection.execute(f'DROP INDEX IF EXISTS "{name}"'.encode())  # an incomplete one
        try:
            self._connection.execute(create_index(table, name, index, beside=True).encode())
        except psycopg.errors.UniqueViolation:
            self._connection.execute(f'DROP INDEX IF EXISTS "{name}"'.encode())
            raise MigrationRefused(
                f"index '{name}' of table '{table}' wants unique values, and two rows share theirs"
            ) from None
        if index.where:
            self._connection.execute(note_where(name, index).encode())


@contextmanager
def _connected(place: PostgresPlace) -> Iterator[psycopg.Connection[Any]]:
    try:
        live = psycopg.connect(
            place.address, autocommit=True, connect_timeout=_CONNECT_SECONDS,
            application_name="bbops migration",
        )  # fmt: skip
    except psycopg.Error as error:
        raise _failed(f"cannot reach {place}", error) from None
    with live:
        live.execute(_SETTINGS)
        live.execute(END_WITH_CLIENT.encode())
        yield live


def _failed(what: str, error: psycopg.Error) -> DatabaseError:
    reason = error.diag.message_primary or type(error).__name__
    return DatabaseError(f"{what}: {reason}", hint=error.diag.message_hint or "")
