"""Run statements that a person typed: they read, and with permission insert, update or delete."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bbops.base.errors import DatabaseError
from bbops.database.sqlite.connection import connect
from bbops.database.sqlite.gate import Gate
from bbops.database.sqlite.violations import ERRORS

_READS: Final = {
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
}  # fmt: skip
_WRITES: Final = {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE}
_LOOKS: Final = {
    "foreign_key_check", "foreign_key_list", "index_info", "index_list", "integrity_check",
    "quick_check", "table_info", "table_list", "table_xinfo",
}  # fmt: skip
"""Pragmas that change nothing."""
_OPERATIONS_PER_BREATH: Final = 100_000


@dataclass(frozen=True, slots=True)
class StatementResult:
    """The result of a statement: stored values, and the number of changed rows.

    `is_cut` says that there were more rows.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    changed: int
    is_cut: bool = False


class ByHand:
    """A database, served or not, for the statements of a person; each is a transaction.

    There is no BEGIN, so an idle user cannot keep writers waiting. Statements that change the
    tables themselves, the settings or another file are always refused.
    """

    def __init__(self, path: Path, *, writes: bool = False) -> None:
        """Open the file, which must exist.

        Raises:
            DatabaseError: it cannot be opened.
        """
        self._gate = Gate(path)
        with self._gate:  # the first one to open recovers the log
            self._reader = _open(path, reads=True)
            self._writer = _open(path, reads=False) if writes else None

    def run(self, statement: str, *, most: int) -> StatementResult:
        """Run one statement and return at most `most` of its rows.

        Raises:
            DatabaseError: it is invalid, not allowed here, or breaks a rule of a table.
            KeyboardInterrupt: Ctrl-C, also in the middle of a long one.
        """
        try:
            return _answer(self._reader.execute(statement), most)
        except ERRORS as error:
            if self._writer is None or not _is_denied(error):
                raise _refusal(error, writes=self._writer is not None) from None
        try:
            with self._gate:
                return _written(self._writer.execute(statement), most)
        except ERRORS as error:
            raise _refusal(error, writes=True) from None

    def close(self) -> None:
        """Close the file; the last one to close empties the log."""
        with self._gate:
            self._reader.close()
            if self._writer is not None:
                self._writer.close()
        self._gate.close()


def _open(path: Path, *, reads: bool) -> sqlite3.Connection:
    connection = connect(path, reads=reads)
    connection.set_authorizer(_may_read if reads else _may_write)
    connection.set_progress_handler(_breathe, _OPERATIONS_PER_BREATH)
    return connection


def _may_read(action: int, one: str | None, *_: str | None) -> int:
    is_look = action == sqlite3.SQLITE_PRAGMA and one in _LOOKS
    # so SQLite asks about `json_each` and `pragma_…`; no statement ever updates that table
    is_function = action == sqlite3.SQLITE_UPDATE and one == "sqlite_master"
    is_fine = action in _READS or is_look or is_function
    return sqlite3.SQLITE_OK if is_fine else sqlite3.SQLITE_DENY


def _may_write(action: int, one: str | None, *more: str | None) -> int:
    if action in _WRITES and not str(one).startswith("_bbops_"):
        return sqlite3.SQLITE_OK
    return _may_read(action, one, *more)


def _breathe() -> int:
    """Let Python handle a Ctrl-C in the middle of a statement."""
    return 0


def _answer(cursor: sqlite3.Cursor, most: int) -> StatementResult:
    with closing(cursor):
        if cursor.description is None:
            return StatementResult((), (), max(cursor.rowcount, 0))
        rows = cursor.fetchmany(most + 1)
        columns = tuple(str(column[0]) for column in cursor.description)
    return StatementResult(columns, tuple(rows[:most]), 0, is_cut=len(rows) > most)


def _written(cursor: sqlite3.Cursor, most: int) -> StatementResult:
    """Return the result of a writing statement, after it has run to its end."""
    with closing(cursor):
        rows = cursor.fetchall()
        columns = tuple(str(column[0]) for column in cursor.description or ())
        changed = max(cursor.rowcount, 0)
    return StatementResult(columns, tuple(rows[:most]), changed, is_cut=len(rows) > most)


def _is_denied(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_AUTH


def _refusal(error: Exception, *, writes: bool) -> BaseException:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_INTERRUPT:
        return KeyboardInterrupt()
    if not _is_denied(error):
        return DatabaseError(f"the statement failed: {str(error).removesuffix('.')}")
    if not writes:
        return DatabaseError("this statement does not only read", hint="use --write to change rows")
    return DatabaseError(
        "this statement does more than read, insert, update or delete rows of the project's tables",
        hint="tables change by a commit; each statement is a transaction of its own",
    )
