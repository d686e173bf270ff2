"""The reads, checks, SQL and encoding of the API, shared by every hand-written server."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

HELLO: dict[str, Any] = {"message": "hello", "version": 1, "tags": ["one", "two", "three"]}
FILLED_ROWS = 1_000

_SELECT = "SELECT id, owner, title, quantity, done, created_at FROM items WHERE id = ?"
_INSERT = (
    "INSERT INTO items (owner, title, quantity, done, created_at) VALUES (?, ?, ?, ?, ?)"
    " RETURNING id, owner, title, quantity, done, created_at"
)


class NewItem(Struct):
    """What a client sends."""

    title: Annotated[str, Meta(min_length=1, max_length=120)]
    quantity: Annotated[int, Meta(ge=1, le=1000)]


class Items:
    """A table in a SQLite file, asked on the loop itself."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None, cached_statements=512)
        self.connection.execute("PRAGMA journal_mode = WAL").close()
        self.connection.execute("PRAGMA synchronous = NORMAL")
        self.connection.execute("PRAGMA foreign_keys = ON")

    def find(self, key: int) -> dict[str, Any] | None:
        """Return a row by its key."""
        row = self.connection.execute(_SELECT, (key,)).fetchone()
        return None if row is None else _item(row)

    def add(self, owner: str, new: NewItem) -> dict[str, Any]:
        """Insert a row in a transaction of its own and return it as stored."""
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        given = (owner, new.title, new.quantity, 0, now)
        return _item(self.connection.execute(_INSERT, given).fetchall()[0])


def _item(row: tuple[Any, ...]) -> dict[str, Any]:
    return {
        "id": row[0],
        "owner": row[1],
        "title": row[2],
        "quantity": row[3],
        "done": row[4] != 0,
        "created_at": datetime.fromisoformat(row[5]),
    }
