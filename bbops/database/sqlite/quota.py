"""How large the databases of this process may grow: unbounded, unless it says otherwise."""

from __future__ import annotations

import sqlite3

_most: list[int] = []


def limit_size(size_bytes: int) -> None:
    """Let no file that this process writes from now on grow beyond that; once, for good."""
    _most[:] = [size_bytes]


def set_quota(connection: sqlite3.Connection) -> None:
    """Bound the file of a connection that writes, where this process has a bound."""
    if _most:
        (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute(f"PRAGMA max_page_count = {_most[0] // page_bytes}").close()
