"""Keep a copy of a database file before something in it is lost."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from bbops.database.files.backup import copy
from bbops.database.files.files import written_whole


def keep_copy(live: sqlite3.Connection, path: Path, name: str) -> Path:
    """Write what `live` holds to `<file>.before-<name>` beside the file, and return its path.

    It appears when it is whole, checked and on the disk; one of that name is replaced.

    Args:
        live: outside of a transaction; its owner holds the gate.
        path: the file of `live`.
        name: tells copies apart.

    Raises:
        DatabaseDamaged: the file is not a whole database.
        DatabaseError: it cannot be read, or the copy not be written.
    """
    target = path.with_name(f"{path.name}.before-{name}")
    with written_whole(target) as partial:
        copy(live, partial, path, hint="'bbops db restore' puts a backup in its place")
    return target
