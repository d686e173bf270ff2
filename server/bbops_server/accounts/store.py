"""Open the control database, bring it to the newest schema, and give transactions.

Synchronous: call it from threads.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, Final

import sqlalchemy as sa

from bbops.base.disk import make_private
from bbops.base.errors import DatabaseError
from bbops.base.host import Clock
from bbops.database.schema.place import PostgresPlace
from bbops_server.accounts.set_up_mark import require_file
from bbops_server.accounts.tables import (
    CI_TABLES,
    GRANT_TABLES,
    METADATA,
    arrivals,
    audit,
    merge_statuses,
    playground_calls,
    proposals,
    replays,
    reviews,
    schema_steps,
)
from bbops_server.accounts.text_rules import ControlAway
from bbops_server.process.host.system import SystemClock


def _first(connection: sa.Connection) -> None:
    METADATA.create_all(connection)


def _second(connection: sa.Connection) -> None:
    METADATA.create_all(connection, tables=[proposals, reviews])


def _third(connection: sa.Connection) -> None:
    METADATA.create_all(connection, tables=[replays])


def _fourth(connection: sa.Connection) -> None:
    METADATA.create_all(connection, tables=GRANT_TABLES)


def _fifth(connection: sa.Connection) -> None:
    _add_columns(connection, "ready", "reviewers")


def _sixth(connection: sa.Connection) -> None:
    _add_columns(connection, "pushers")


def _seventh(connection: sa.Connection) -> None:
    METADATA.create_all(connection, tables=[merge_statuses])


def _eighth(connection: sa.Connection) -> None:
    METADATA.create_all(connection, tables=[arrivals])


def _ninth(connection: sa.Connection) -> None:
    METADATA.create_all(connection, tables=[playground_calls])


def _tenth(connection: sa.Connection) -> None:
    METADATA.create_all(connection, tables=CI_TABLES)


def _add_columns(connection: sa.Connection, *names: str) -> None:
    known = {one["name"] for one in sa.inspect(connection).get_columns(proposals.name)}
    for column in (proposals.c[name] for name in names):
        if column.name not in known:
            text = sa.schema.CreateColumn(column).compile(dialect=connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {proposals.name} ADD COLUMN {text}")


STEPS: Final[tuple[Callable[[sa.Connection], None], ...]] = (
    _first, _second, _third, _fourth, _fifth, _sixth, _seventh, _eighth, _ninth, _tenth,
)  # fmt: skip
"""Migrations by one version each; a published one never changes."""

_AWAY: Final = (sa.exc.OperationalError, sa.exc.DatabaseError)
"""Errors of a server that is away and of a damaged file, not of violated constraints."""

Make = Callable[[sa.Connection], None]


class Store:
    """The control database of one server. Several processes may have it open at once."""

    def __init__(
        self, engine: sa.Engine, clock: Clock, name: str, before: Make, fill: Make
    ) -> None:
        """Does not connect yet.

        Args:
            engine: the engine of a file or a schema.
            clock: the server's clock.
            name: the name of the database in errors.
            before: creates the schema of the tables.
            fill: fills new tables with the first rows.
        """
        self._engine, self._clock, self._name = engine, clock, name
        self._before, self._fill = before, fill
        self._is_newest, self._opening = False, Lock()
        self.edition = object()
        """Replaced after each write of this process that may change permissions."""

    @classmethod
    def open(
        cls, state: Path, clock: Clock | None = None, postgres: PostgresPlace | None = None,
        *, must_exist: bool = False,
    ) -> Store:  # fmt: skip
        """Open `control.sqlite` of a state folder, or a schema of PostgreSQL.

        A new schema gets the rows of the file, if there is one. Every query tries again to reach a
        server that is away. With `must_exist` no new file is created.

        Raises:
            DatabaseError: it cannot be opened, or a newer bbops has written it; or there is none.
        """
        clock = clock or SystemClock()
        if postgres is None:
            if must_exist:
                require_file(state)
            return _open_file(state / FILE, clock)
        place = postgres
        return cls(
            open_schema(place),
            clock,
            f"the control database in {place}",
            before=lambda connection: make_schema(connection, place),
            fill=lambda connection: _move_in(state / FILE, connection, clock),
        )

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def now(self) -> datetime:
        """Return the time of the server's clock."""
        return self._clock.now()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Give a transaction for reading.

        Raises:
            ControlAway: the database is not available.
        """
        self.bring_forward()
        with self._telling(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Give an exclusive transaction for writing, rolled back after an exception.

        Raises:
            ControlAway: the database is not available.
        """
        try:
            with self.noting() as connection:
                yield connection
        finally:
            self.edition = object()

    @contextmanager
    def noting(self) -> Iterator[sa.Connection]:
        """Give a transaction as `writing`, for writes that revoke nothing: a log, new tokens.

        Raises:
            ControlAway: the database is not available.
        """
        self.bring_forward()
        with self._telling(), self._begin_writing() as connection:
            yield connection

    def bring_forward(self) -> None:
        """Migrate the schema to the newest version, once.

        Raises:
            ControlAway: the database is not available.
            DatabaseError: a newer bbops has written it.
        """
        if self._is_newest:
            return
        with self._opening, self._telling(), self._begin_writing() as connection:
            if not self._is_newest:
                self._take_steps(connection)
        self._is_newest = True

    def _take_steps(self, connection: sa.Connection) -> None:
        self._before(connection)
        schema_steps.create(connection, checkfirst=True)
        done = connection.scalar(sa.select(sa.func.max(schema_steps.c.number))) or 0
        if done > len(STEPS):
            raise DatabaseError(
                f"{self._name} was written by a newer bbops", hint="install that version again"
            )
        for number, step in enumerate(STEPS[done:], done + 1):
            step(connection)
            connection.execute(schema_steps.insert().values(number=number, at=self.now()))
        if not done:
            self._fill(connection)

    @contextmanager
    def _begin_writing(self) -> Iterator[sa.Connection]:
        connection = self._engine.connect().execution_options(**{WRITES: True})
        with connection, connection.begin():
            yield connection

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.DatabaseError as error:
            if type(error) not in _AWAY:
                raise
            told = getattr(error.orig, "diag", None)
            reason = (told and told.message_primary) or type(error.orig).__name__
            raise ControlAway(
                f"cannot use {self._name}: {reason}",
                hint="check that its server is running and has disk space",
            ) from None


def _open_file(path: Path, clock: Clock) -> Store:
    store = Store(open_file(path), clock, f"'{path}'", lambda _: None, lambda _: None)
    try:
        store.bring_forward()
    except (ControlAway, sa.exc.DBAPIError) as error:
        raise cannot_open(path, getattr(error, "orig", error)) from None
    return store


def _move_in(path: Path, connection: sa.Connection, clock: Clock) -> None:
    """Copy what a file holds into new tables; it stays as it was."""
    if not path.exists():
        return
    with closing(_open_file(path, clock)) as source, source.reading() as old:
        for table in METADATA.sorted_tables:
            rows = [dict(row) for row in old.execute(_all(table)).mappings()]
            if rows and table is not schema_steps:
                connection.execute(table.insert(), rows)


def _all(table: sa.Table) -> sa.Select[tuple[object, ...]]:
    if table is audit:  # its entries are counted anew, in their order
        columns = [column for column in table.c if column is not table.c.number]
        return sa.select(*columns).order_by(table.c.number)
    return sa.select(table)


# ---- The control database as a schema of PostgreSQL: what only PostgreSQL knows
# One write at a time, as in a file: who writes holds a lock of the whole schema.

_SETTINGS: Final = "-clock_timeout=10s -cstatement_timeout=30s -cTimeZone=UTC"
_CONNECT_SECONDS: Final = 5


def open_schema(place: PostgresPlace) -> sa.Engine:
    """Return the engine of a schema; nothing is connected to yet.

    Raises:
        DatabaseError: the driver is not installed.
    """
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError:
        raise DatabaseError(
            "PostgreSQL needs a driver", hint="pip install 'bbops[postgres]'"
        ) from None

    def connect() -> psycopg.Connection[object]:
        return psycopg.connect(
            place.url, connect_timeout=_CONNECT_SECONDS, application_name="bbops control",
            options=f"-csearch_path={place.schema} {_SETTINGS}",
        )  # fmt: skip

    def begin(connection: sa.Connection) -> None:
        if connection.get_execution_options().get(WRITES):
            lock = sa.text("SELECT pg_advisory_xact_lock(hashtext(:name))")
            connection.execute(lock, {"name": f"bbops control:{place.schema}"})

    engine = sa.create_engine(
        "postgresql+psycopg://", creator=connect, pool_size=2, max_overflow=6, pool_pre_ping=True
    )
    sa.event.listen(engine, "begin", begin)
    return engine


def make_schema(connection: sa.Connection, place: PostgresPlace) -> None:
    """Make the schema where it is missing, in a transaction that holds its lock."""
    connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{place.schema}"')


# ---- The control database as a SQLite file: what only SQLite knows

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
    """Return the error for a file that cannot be opened as the control database."""
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
