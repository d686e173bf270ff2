"""Keep a copy of a database file before something in it is lost."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def keep_copy(live: sqlite3.Connection, path: Path, name: str) -> Path:
    """Write what `live` holds to `<file>.before-<name>` beside the file, and return its path.

    It appears when it is whole; one of that name is replaced. By SQLite's backup: a plain copy of
    the file would miss what is in the write-ahead log.

    Args:
        live: outside of a transaction; its owner holds the gate.
        path: the file of `live`.
        name: tells copies apart.
    """
    target = path.with_name(f"{path.name}.before-{name}")
    part = target.with_name(f"{target.name}.part")
    with closing(sqlite3.connect(part, isolation_level=None)) as copy:
        live.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # all of it in the one file
    return part.replace(target)
