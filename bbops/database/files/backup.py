"""Copies of a database in use: checked backups, and copies before a loss."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bbops.base.errors import DatabaseDamaged, DatabaseError
from bbops.database.files.files import log_files, written_whole
from bbops.database.sqlite.connection import add_functions, connect
from bbops.database.sqlite.gate import Gate
from bbops.runtime.values.identifiers import quote

Tell = Callable[[int, int], None]
"""A callback for the number of copied bytes, and of all bytes."""

_PAGES_AT_ONCE: Final = 1_024
_MOST_COMPLAINTS: Final = 3
_DAMAGED: Final = "restore the last backup: 'bbops db restore FILE'"
DAMAGE: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
"""SQLite's error codes for unreadable pages."""
_FULL: Final = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a whole database.

    `tables` are the project's own with their numbers of rows. `spec_hash` is the hash of their
    declaration, see `bbops.database.migrate.migrate`; empty if no project's tables were ever made
    here.
    """

    size_bytes: int
    tables: Mapping[str, int]
    spec_hash: str


def back_up(path: Path, target: Path, *, tell: Tell | None = None) -> Contents:
    """Write the current contents of the database at `path` to the new file `target`.

    Every earlier commit is in it, and no later one. Readers and writers go on; the write-ahead log
    grows meanwhile, since it cannot be emptied under a reader.

    Args:
        path: the database, which may be served.
        target: appears once it is complete, checked and on the disk.
        tell: called every 4 MiB.

    Raises:
        DatabaseDamaged: the copy, and so the database, is damaged; there is no `target`.
        DatabaseError: `target` exists or cannot be written, or the database cannot be read.
    """
    if target.exists():
        raise DatabaseError(f"'{target}' exists", hint="choose another name, or delete it first")
    with written_whole(target) as partial, _open_live(path) as source:
        return copy(source, partial, path, hint=_DAMAGED, tell=tell)


def copy(
    source: sqlite3.Connection, target: Path, path: Path, *, hint: str, tell: Tell | None = None
) -> Contents:
    """Write an open database to a single file, and check the file.

    Args:
        source: keeps the pages of one moment until all are copied.
        target: an empty file; not on the disk yet when this returns.
        path: the file of `source`, for messages.
        hint: the fix if that file is damaged.
        tell: see `back_up`.

    Raises:
        DatabaseDamaged: it is not a database, or is damaged.
        DatabaseError: it cannot be read, or the disk is full.
    """
    try:
        _copy(source, target, tell)
        with closing(open_still(target)) as copied:
            complaints = _complaints(copied)
            if not complaints:
                return _contents(copied, target.stat().st_size)
    except sqlite3.Error as error:
        complaints = [_damage(error, target, path)]
    raise DatabaseDamaged(f"'{path}' is damaged: {'; '.join(complaints)}", hint=hint)


def _copy(source: sqlite3.Connection, target: Path, tell: Tell | None) -> None:
    with closing(_connect(target)) as copied:
        source.execute("BEGIN")  # otherwise each commit of another process would restart it
        source.execute("SELECT 1 FROM sqlite_master").close()
        size = int(source.execute("PRAGMA page_size").fetchone()[0])
        source.backup(copied, pages=_PAGES_AT_ONCE, progress=_in_bytes(size, tell))
        source.execute("COMMIT")
    with closing(_connect(target)) as copied:
        copied.execute("PRAGMA journal_mode = DELETE").fetchall()


def _complaints(copied: sqlite3.Connection) -> list[str]:
    asked = f"PRAGMA integrity_check({_MOST_COMPLAINTS})"
    found = [str(row[0]) for row in copied.execute(asked)]
    return [] if found == ["ok"] else found


def _damage(error: sqlite3.Error, target: Path, path: Path) -> str:
    """Return SQLite's message about damaged pages.

    Raises:
        DatabaseError: the error has another cause.
    """
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in DAMAGE:
        return str(error)
    hint = f"the disk of '{target.parent}' must have room for all of it" if code in _FULL else ""
    raise DatabaseError(f"cannot copy database '{path}': {error}", hint=hint) from None


def open_still(path: Path) -> sqlite3.Connection:
    """Open a file that is not written, perhaps on a read-only disk.

    Raises:
        sqlite3.Error: it cannot be opened. It is not known yet whether it is a database.
    """
    has_log = any(log.exists() for log in log_files(path))
    mode = "mode=ro" if has_log else "mode=ro&immutable=1"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None
    )
    add_functions(connection)
    return connection


@contextmanager
def _open_live(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database that may be served; only the copying itself runs without the gate.

    The first one to open recovers the log, the last one empties it: both as a writer does.
    """
    gate = Gate(path)
    with closing(gate):
        with gate:
            connection = connect(path, reads=True)
        try:
            yield connection
        finally:
            with gate:
                connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")  # flushed once, when it is complete
    return connection


def _in_bytes(page_size: int, tell: Tell | None) -> Callable[[int, int, int], None] | None:
    if tell is None:
        return None

    def progress(_status: int, remaining: int, pages: int) -> None:
        tell((pages - remaining) * page_size, pages * page_size)

    return progress


def _contents(connection: sqlite3.Connection, size_bytes: int) -> Contents:
    names = {
        str(name) for (name,) in connection.execute("SELECT name FROM pragma_table_list"
        " WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    }  # fmt: skip
    spec_hash = ""
    if "_bbops_schema" in names:
        found = connection.execute("SELECT hash FROM _bbops_schema").fetchone()
        spec_hash = str(found[0]) if found else ""
    tables = {
        name: int(connection.execute(f"SELECT count(*) FROM {quote(name)}").fetchone()[0])
        for name in sorted(names)
        if not name.startswith("_bbops_")
    }
    return Contents(size_bytes, tables, spec_hash)


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
