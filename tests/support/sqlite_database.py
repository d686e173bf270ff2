"""An SQLite database to try, and whether somebody holds it."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from bbops.database.migrate import migrate
from bbops.database.sqlite.driver import Sqlite
from bbops.database.sqlite.gate import Gate
from bbops.language.resources.table import Table
from bbops.runtime.values.failures import DatabaseFailure

ID = {"type": "integer", "primaryKey": True, "auto": "increment"}
TABLES = {
    name: Table.model_validate({"columns": columns})
    for name, columns in {
        "users": {"id": ID, "email": {"type": "string", "unique": True, "maxLength": 9}},
        "posts": {
            "id": ID,
            "title": {"type": "string"},
            "author_id": {"type": "integer", "references": "users.id"},
            "editor_id": {"type": "integer", "references": "users.id", "nullable": True},
        },
        "post_tags": {
            "id": ID,
            "tag": {"type": "string", "enum": ["a", "b"]},
            "post_id": {"type": "integer", "references": "posts.id", "nullable": True},
        },
        "counts": {"n": {"type": "integer"}},
    }.items()
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    migrate.apply(tmp_path / "data.sqlite", TABLES)
    return tmp_path / "data.sqlite"


@contextlib.asynccontextmanager
async def opened(path: Path, **options: Any) -> AsyncIterator[Sqlite]:
    database = await Sqlite.open(path, **options)
    try:
        yield database
    finally:
        await database.close()


def with_database(
    test: Callable[[Sqlite, Path], Awaitable[None]],
) -> Callable[[Path], None]:
    """Run a test that gets an open database and its path."""

    def run(path: Path) -> None:
        async def main() -> None:
            async with opened(path) as database:
                await test(database, path)

        asyncio.run(main())

    run.__name__ = test.__name__
    return run


def is_free(path: Path) -> bool:
    """Whether neither the gate nor SQLite's write lock is held."""
    gate = Gate(path)
    with contextlib.closing(gate), contextlib.closing(sqlite3.connect(path, timeout=0)) as other:
        other.isolation_level = None
        if not gate.try_take():
            return False
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    return True


async def failure(work: Coroutine[Any, Any, Any]) -> DatabaseFailure:
    with pytest.raises(DatabaseFailure) as caught:
        await work
    return caught.value
