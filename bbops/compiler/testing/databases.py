"""Where the cases of tests keep their rows: a database for each, thrown away behind it."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from bbops.base.host import Host
from bbops.compiler.testing.rows import Rows, put_rows, put_rows_by_door
from bbops.database.migrate.migrate import apply
from bbops.database.migrate.opened import write_tables
from bbops.database.open import Opened, open_database
from bbops.database.schema.place import Place, PostgresPlace, read_url
from bbops.database.schema.row_events import ByTable
from bbops.language.resources.table import Table


class Fresh(Protocol):
    """The database of one case."""

    door: Opened

    async def put(self, rows: Mapping[str, Rows], host: Host) -> None:
        """Insert the rows of a test; raises WrongRow."""
        ...


class Databases(Protocol):
    """Makes databases with the same tables."""

    def fresh(self) -> AbstractAsyncContextManager[Fresh]:
        """Return a new database for one case; it is gone behind it."""
        ...

    def close(self) -> None:
        """Remove what was made."""
        ...


def databases(
    tables: Mapping[str, Table], url: str = "", row_events: ByTable | None = None
) -> Databases:
    """Return databases with these tables: files of SQLite, or schemas where a URL leads.

    Args:
        row_events: the changes of rows that they report; none if left out.
    """
    return _Schemas(tables, url, row_events or {}) if url else _Files(tables, row_events or {})


def _make(place: Place, tables: Mapping[str, Table], row_events: ByTable) -> None:
    apply(place, tables)
    if row_events:
        with write_tables(place) as opened:
            opened.transact(lambda: opened.live.report_changes(row_events))


class _Files:
    """Copies of one file."""

    def __init__(self, tables: Mapping[str, Table], row_events: ByTable) -> None:
        self.tables = tables
        self._folder = TemporaryDirectory(prefix="bbops-test-")
        self._empty = Path(self._folder.name) / "empty.sqlite"
        self._count = 0
        _make(self._empty, tables, row_events)

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[Fresh]:
        self._count += 1
        path = self._empty.with_name(f"{self._count}.sqlite")
        shutil.copyfile(self._empty, path)
        try:
            door = await open_database(path)
            try:
                yield _File(door, path, self.tables)
            finally:
                await door.close()
        finally:
            for left in path.parent.glob(f"{path.name}*"):
                left.unlink()

    def close(self) -> None:
        self._folder.cleanup()


class _File:
    def __init__(self, door: Opened, path: Path, tables: Mapping[str, Table]) -> None:
        self.door, self._path, self._tables = door, path, tables

    async def put(self, rows: Mapping[str, Rows], host: Host) -> None:
        put_rows(self._path, self._tables, rows, host)


class _Schemas:
    """Schemas of a PostgreSQL database, each with a name that nobody else has."""

    def __init__(self, tables: Mapping[str, Table], url: str, row_events: ByTable) -> None:
        self.tables, self._url, self._row_events = tables, url, row_events

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[Fresh]:
        place = read_url(self._url, f"bbops_test_{secrets.token_hex(8)}")
        try:
            await asyncio.to_thread(_make, place, self.tables, self._row_events)
            door = await open_database(place)
            try:
                yield _Schema(door, self.tables)
            finally:
                await door.close()
        finally:
            await asyncio.to_thread(_drop, place)

    def close(self) -> None:
        """Nothing is left behind a case."""


class _Schema:
    def __init__(self, door: Opened, tables: Mapping[str, Table]) -> None:
        self.door, self._tables = door, tables

    async def put(self, rows: Mapping[str, Rows], host: Host) -> None:
        await put_rows_by_door(self.door, self._tables, rows, host)


def _drop(place: PostgresPlace) -> None:
    import psycopg  # noqa: PLC0415 - an extra

    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{place.schema}" CASCADE'.encode())
