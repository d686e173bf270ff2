"""The databases under the servers: a file of SQLite or a schema of PostgreSQL, filled alike."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from bbops.compiler.compile.release import build
from bbops.database.migrate import migrate
from bbops.database.schema.place import Place
from bbops.language.resources.project import Engine
from bbops.source.tree import MemoryTree
from tests.bench import processes, project
from tests.bench.apps.items import FILLED_ROWS
from tests.support.postgres import new_schema, passing_server

Lend = Callable[[Path], AbstractContextManager[Place]]
"""Lends an empty database whose files, if it has any, lie in a folder."""

_AUTHORS = 50
_WHEN = "2026-01-01T00:00:00.000000Z"
_ITEM = (
    "INSERT INTO items (owner, title, quantity, done, created_at) VALUES ('nobody', ?, ?, false, ?)"
)
_AUTHOR = "INSERT INTO authors (name) VALUES (?)"
_NOTE = "INSERT INTO notes (title, author_id, created_at) VALUES (?, ?, ?)"


@contextmanager
def in_sqlite(folder: Path) -> Iterator[Place]:
    """Lend a file."""
    yield folder / "data.sqlite"


@contextmanager
def in_postgres(folder: Path) -> Iterator[Place]:
    """Lend a schema; a server started for it runs on the core of the load generators."""
    with ExitStack() as stack:
        with processes.pinned(processes.cores()[1]):
            url = stack.enter_context(passing_server(folder / "postgres"))
        yield stack.enter_context(new_schema(url))


def prepare(folder: Path, place: Place, files: Mapping[str, str] | None = None) -> Path:
    """Compile a project, make its tables and fill them; return the artifact."""
    engine: Engine = "sqlite" if isinstance(place, Path) else "postgres"
    built = build(MemoryTree(files or project.served_project()), database=engine)
    assert built.project is not None, built.diagnostics
    migrate.apply(place, {name: found.model for name, found in built.project.tables.items()})
    fill(place)
    artifact = folder / built.digest
    artifact.write_bytes(built.artifact)
    return artifact


def fill(place: Place) -> None:
    """Make the tables hold the rows that are asked for."""
    if isinstance(place, Path):
        with closing(sqlite3.connect(place)) as live, live:
            for statement, rows in _rows():
                live.executemany(statement, rows)
    else:
        with psycopg.connect(place.address) as served:
            for statement, rows in _rows():
                served.cursor().executemany(statement.replace("?", "%s").encode(), rows)


def _rows() -> Iterator[tuple[str, Iterable[tuple[Any, ...]]]]:
    numbers = range(FILLED_ROWS)
    yield _ITEM, [(f"item {at}", 1 + at, _WHEN) for at in numbers]
    yield _AUTHOR, [(f"author {at}",) for at in range(_AUTHORS)]
    yield _NOTE, [(f"note {at}", 1 + at * 7 % _AUTHORS, _WHEN) for at in numbers]
