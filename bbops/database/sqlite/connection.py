"""Open a SQLite file with the settings of bbops: pragmas, functions, collation."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from bbops.base.disk import make_private
from bbops.base.errors import DatabaseError
from bbops.database.schema.conversions import Stored
from bbops.database.sqlite.functions import add_decimals, add_moments, find_text, replace_text
from bbops.database.sqlite.limits import set_limits, set_quota
from bbops.runtime.data.rows import ENCODERS, check_json
from bbops.runtime.values.failures import BadValue

OLDEST = (3, 38, 0)
"""The first version with RETURNING, STRICT and the JSON operators."""

_HINTS = {
    sqlite3.SQLITE_NOTADB: "the path must name a SQLite database or no file at all",
    sqlite3.SQLITE_CANTOPEN: "its folder must exist and be writable",
    sqlite3.SQLITE_READONLY: "the file and its folder must be writable",
    sqlite3.SQLITE_BUSY: "another program holds the file: close it, then try again",
}


def check_version(found: tuple[int, ...] = sqlite3.sqlite_version_info) -> None:
    """Raise DatabaseError if the SQLite of this Python is too old."""
    if found < OLDEST:
        raise DatabaseError(
            f"SQLite {'.'.join(map(str, found))} is too old, expected 3.38 or newer",
            hint="use a Python that brings a newer SQLite, for example one from uv or python.org",
        )


def connect(
    path: Path,
    *,
    durability: Literal["normal", "full"] = "normal",
    reads: bool = False,
    create: bool = False,
    wait_seconds: float = 5.0,
    bounded: bool = False,
) -> sqlite3.Connection:
    """Open `path` in autocommit mode; usable from any thread, one at a time, never after a fork.

    Args:
        path: the file; its write-ahead log lies beside it.
        durability: `full` waits for the disk at each commit.
        reads: refuses to write.
        create: makes the file if it is missing.
        wait_seconds: how long a statement waits for a lock that another program holds.
        bounded: it answers requests, so it gets `limits.LIMITS`.

    Raises:
        DatabaseError: SQLite is too old, or the file cannot be opened or is not a database.
    """
    check_version()
    uri = f"{path.absolute().as_uri()}?mode=rw"
    if create:
        with suppress(OSError):  # SQLite reports the reason
            make_private(path)
    try:
        connection = sqlite3.connect(
            uri,
            uri=True,
            timeout=wait_seconds,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=512,
            factory=SqliteConnection,
        )
    except sqlite3.Error as error:
        raise _cannot_open(path, error) from None
    try:
        _configure(connection, durability, reads=reads)
        if bounded:
            set_limits(connection)
            connection.text_factory = read_text
    except sqlite3.Error as error:
        connection.close()
        raise _cannot_open(path, error) from None
    return connection


def _configure(connection: sqlite3.Connection, durability: str, *, reads: bool) -> None:
    connection.execute("PRAGMA schema_version").close()  # refuses a file that is not a database
    if not reads:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {durability}")
    connection.execute("PRAGMA foreign_keys = ON")
    # only the holder of the gate checkpoints, see gate.py
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute(f"PRAGMA query_only = {'ON' if reads else 'OFF'}")
    if not reads:
        set_quota(connection)
    add_functions(connection)


def add_functions(connection: sqlite3.Connection) -> None:
    """Add the functions of compiled statements to a connection."""
    connection.create_function("bbops_lower", 1, lower, deterministic=True)
    connection.create_function("bbops_upper", 1, upper, deterministic=True)
    connection.create_function("bbops_trim", 1, trim, deterministic=True)
    connection.create_function("bbops_number", 1, number, deterministic=True)
    connection.create_function("bbops_hex", 1, in_hex, deterministic=True)
    connection.create_function("bbops_instr", 2, find_text, deterministic=True)
    connection.create_function("bbops_replace", 3, replace_text, deterministic=True)
    connection.create_function("bbops_stored", 3, _storing(connection), deterministic=True)
    connection.create_function("bbops_fit", 3, _fitting(connection), deterministic=True)
    add_moments(connection)
    add_decimals(connection)


class SqliteConnection(sqlite3.Connection):
    """A connection with the state of its functions.

    Attributes:
        too_long: the column that a computed text was too long for, and its limit.
        unfit: why a computed value did not fit its column's type.
        beside: databases in memory that close with it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.too_long: list[tuple[str, int]] = []
        self.unfit: list[BadValue] = []
        self.beside: list[sqlite3.Connection] = []

    def close(self) -> None:
        """Close the connection, and the databases beside it."""
        super().close()
        while self.beside:
            self.beside.pop().close()


def _fitting(connection: sqlite3.Connection) -> Callable[[Stored, int, str], Stored]:
    too_long = connection.too_long if isinstance(connection, SqliteConnection) else []

    def fit(value: Stored, most: int, column: str) -> Stored:
        """`bbops_fit`: a text, unless it is too long for its column."""
        if isinstance(value, str) and len(value) > most:
            too_long[:] = [(column, most)]
            raise OverflowError  # SQLite reports that it is too big
        return value

    return fit


def _storing(connection: sqlite3.Connection) -> Callable[[Stored, str, str], Stored]:
    unfit = connection.unfit if isinstance(connection, SqliteConnection) else []

    def store(value: Stored, of: str, column: str) -> Stored:
        """`bbops_stored`: a computed value in the stored form of that type."""
        try:
            stored: Stored = (check_json if of == "json" else ENCODERS[of])(value, column)
        except BadValue as error:
            unfit[:] = [error]
            raise OverflowError from None  # SQLite reports that it is too big
        return stored

    return store


def _cannot_open(path: Path, error: sqlite3.Error) -> DatabaseError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return DatabaseError(f"cannot open database '{path}': {error}", hint=_HINTS.get(code, ""))


def read_text(stored: bytes) -> str:
    """Return a stored text; bytes that are not UTF-8 become U+FFFD.

    Only a database of another program holds such a text. Python's own decoder raises an error,
    after the statement is done.
    """
    return stored.decode(errors="replace")


def lower(value: Stored) -> Stored:
    """`bbops_lower`: lower case of every script; SQLite's own function only knows A to Z."""
    return value.lower() if isinstance(value, str) else value


def upper(value: Stored) -> Stored:
    """`bbops_upper`: upper case of every script."""
    return value.upper() if isinstance(value, str) else value


def trim(value: Stored) -> Stored:
    """`bbops_trim`: a text without white space, as Unicode defines it, at either end."""
    return value.strip() if isinstance(value, str) else value


def number(value: Stored) -> Stored:
    """`bbops_number`: a number for JSON, as text that reads back to the very same number."""
    return repr(value) if isinstance(value, float) else value


def in_hex(value: Stored) -> Stored:
    """`bbops_hex`: bytes for JSON; null stays null, unlike with SQLite's own function."""
    return value.hex() if isinstance(value, bytes) else value
