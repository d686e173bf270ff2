"""Turn SQLite's errors into failures of flows: the broken rule, its table and its columns.

They contain no values: SQLite's own messages are passed on only if they come from the statement.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final

from bbops.base.errors import DatabaseError
from bbops.database.sqlite.connection import SqliteConnection
from bbops.database.sqlite.limits import LONGEST_STATEMENT_SECONDS
from bbops.runtime.data.rows import too_long
from bbops.runtime.values.failures import (
    BadValue,
    DatabaseFailure,
    FlowError,
    StatementTimeout,
    Unavailable,
)

ERRORS: Final = (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError, TypeError)
"""Everything `sqlite3` raises when it runs a statement."""

_DAMAGE: Final = {
    sqlite3.SQLITE_CORRUPT: "the database file is damaged",
    sqlite3.SQLITE_NOTADB: "the file is not a database",
}
_BUSY: Final = (
    "storageBusy", "the database is locked by another program",
    "end the program that holds the database, such as a shell with an open transaction", 1,
)  # fmt: skip
_FAILS: Final = (
    "storageFailed", "the database's disk has an error",
    "check that the disk of the state folder works and has free space", 10,
)  # fmt: skip
_PASSING: Final = {
    sqlite3.SQLITE_FULL: (
        "storageFull", "the disk of the database is full",
        "free space on the disk of the state folder; writes then resume automatically", 10,
    ),
    sqlite3.SQLITE_READONLY: (
        "storageReadOnly", "the database is read-only",
        "make the database file and its folder writable for the server", 10,
    ),
    sqlite3.SQLITE_IOERR: _FAILS,
    sqlite3.SQLITE_CANTOPEN: _FAILS,
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
}  # fmt: skip
"""Code, message, hint and the seconds after which to try again."""

_TARGET: Final = re.compile(
    r"\b(?P<verb>insert|replace|update|delete)\s+(?:or\s+\w+\s+)?(?:into\s+|from\s+)?"
    r"[\"`\[]?(?P<table>\w+)",
    re.IGNORECASE,
)


def failure_of(
    error: Exception,
    connection: sqlite3.Connection,
    sql: str = "",
    parameters: Sequence[object] = (),
) -> Exception:
    """Return the failure for an error.

    The search for a broken foreign key runs an insert once more, so call this in the statement's
    own transaction, before it is rolled back; nothing of it remains.
    """
    if isinstance(error, sqlite3.IntegrityError):
        return _violation(str(error), connection, sql, parameters)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_INTERRUPT:
        return StatementTimeout(LONGEST_STATEMENT_SECONDS)
    if code == sqlite3.SQLITE_TOOBIG:
        if isinstance(connection, SqliteConnection) and connection.unfit:
            return connection.unfit.pop()
        if isinstance(connection, SqliteConnection) and connection.too_long:
            return too_long(*connection.too_long.pop())
        return FlowError("the statement failed: a value in it is too long")
    if code in _DAMAGE:
        return DatabaseError(_DAMAGE[code])
    if code in _PASSING:
        name, message, hint, seconds = _PASSING[code]
        return Unavailable(name, message, hint=hint, retry_seconds=seconds)
    if isinstance(error, OverflowError) or str(error) == "integer overflow":
        words = _words(error, connection, sql)
        return BadValue(f"the statement failed: {words}", said="a number is too large")
    return FlowError(f"the statement failed: {_words(error, connection, sql)}")


def is_passing(error: Exception) -> bool:
    """Return whether the statement may succeed elsewhere: out of time, or a lock in its way."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in {sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_BUSY}


def is_interrupted(error: Exception) -> bool:
    """Return whether the statement ran out of time."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_INTERRUPT


def is_undecodable(error: Exception) -> bool:
    """Return whether a row contains a text that is not UTF-8."""
    return str(error).startswith("Could not decode")


_TRIES: Final = count()


def compile_error(connection: sqlite3.Connection, sql: str) -> str:
    """Return SQLite's complaint about the text of a statement, or an empty text; runs nothing."""
    # A new text each time: the module caches statements, and would not compile one again.
    try:
        connection.execute(f"EXPLAIN /* {next(_TRIES)} */ {sql}").close()
    except sqlite3.ProgrammingError as error:
        # it compiled, and now misses its parameters
        return "" if str(error).startswith(("Incorrect number of b", "Binding")) else str(error)
    except (sqlite3.Error, sqlite3.Warning) as error:
        return str(error)
    return ""


def _words(error: Exception, connection: sqlite3.Connection, sql: str) -> str:
    if isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return str(error)
    if isinstance(error, sqlite3.Error | sqlite3.Warning):
        name = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
        return compile_error(connection, sql) or f"{name} while it ran"
    return "a parameter does not fit in a column"


def _violation(
    words: str, connection: sqlite3.Connection, sql: str, parameters: Sequence[object]
) -> Exception:
    rule, _, rest = words.partition(" constraint failed")
    places = rest.removeprefix(": ")
    match rule:
        case "UNIQUE":
            return _unique(_columns_of_index(places, connection))
        case "NOT NULL":
            table, _, column = places.partition(".")
            return DatabaseFailure("notNull", table, (column,), f"'{column}' may not be null")
        case "CHECK":
            return _check(places, connection, sql)
        case "FOREIGN KEY":
            return _foreign_key(connection, sql, parameters)
    if words.startswith("cannot store "):  # a sum that is too large for its column
        column = words.rpartition(".")[2]
        return BadValue(words, column, "does not fit")
    return FlowError("the statement failed: a value does not fit, or a trigger refused it")


_OF_INDEX: Final = re.compile(r"index '(.*)'").fullmatch


def _columns_of_index(places: str, connection: sqlite3.Connection) -> str:
    """Return `table.column, …` of an index over an expression, which SQLite names."""
    found = _OF_INDEX(places)
    if found is None:
        return places
    query = "SELECT tbl_name, sql FROM sqlite_master WHERE type = 'index' AND name = ?"
    table, sql = connection.execute(query, (found[1],)).fetchone() or ("", "")
    kept = sql.partition(f'ON "{table}" (')[2].partition(") WHERE (")[0]
    return ", ".join(f"{table}.{name}" for name in dict.fromkeys(re.findall(r'"([^"]*)"', kept)))


def _unique(places: str) -> DatabaseFailure:
    table = places.partition(".")[0]
    columns = [place.partition(".")[2] for place in places.split(", ")]
    named = ", ".join(f"'{column}'" for column in columns)
    return DatabaseFailure("unique", table, columns, f"a row with this {named} exists already")


def _check(name: str, connection: sqlite3.Connection, sql: str) -> DatabaseFailure:
    """Find the rule's table by its text: `ck_a_b_c_…` may be `b_c` of `a` or `c` of `a_b`."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND instr(sql, ?)"
    owners = connection.execute(query, (f"CONSTRAINT {name} ",)).fetchall()
    table = owners[0][0] if owners else target(sql)[1]
    if name.startswith(f"ct_{table}_"):
        check = name.removeprefix(f"ct_{table}_")[:-9]
        return DatabaseFailure("check", table, (), f"the row violates the check '{check}'")
    column = name.removeprefix(f"ck_{table}_")[:-9] if name.startswith(f"ck_{table}_") else ""
    message = (
        f"'{column}' violates a rule of its column" if column else "the row violates a constraint"
    )
    return DatabaseFailure("check", table, (column,) if column else (), message)


def _foreign_key(
    connection: sqlite3.Connection, sql: str, parameters: Sequence[object]
) -> DatabaseFailure:
    verb, table = target(sql)
    if verb == "delete":
        return DatabaseFailure("foreignKey", table, (), "other rows still refer to this row")
    if verb == "update":
        columns = _set_reference(connection, table, sql)
    else:
        columns = _dangling(connection, table, sql, parameters)
    if not columns:
        return DatabaseFailure("foreignKey", table, (), "a row that is referred to does not exist")
    message = f"'{columns[0]}' refers to a row that does not exist"
    return DatabaseFailure("foreignKey", table, columns, message)


def target(sql: str) -> tuple[str, str]:
    """Return the verb and the table of a writing statement; empty texts for others."""
    found = _TARGET.search(sql)
    return (found["verb"].lower(), found["table"]) if found else ("", "")


def _references(connection: sqlite3.Connection, table: str) -> Iterator[tuple[str, str, str]]:
    query = 'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)'
    yield from connection.execute(query, (table,)).fetchall()


def _set_reference(connection: sqlite3.Connection, table: str, sql: str) -> tuple[str, ...]:
    """Return the only foreign key that an update sets; empty if it sets several."""
    assignments = re.split(r"\bwhere\b", sql, maxsplit=1, flags=re.IGNORECASE)[0]
    columns = [
        column
        for column, _, _ in _references(connection, table)
        if re.search(rf'\b{column}"?\s*=', assignments)
    ]
    return (columns[0],) if len(columns) == 1 else ()


def _dangling(
    connection: sqlite3.Connection, table: str, sql: str, parameters: Sequence[object]
) -> tuple[str, ...]:
    """Run an insert again with a deferred rule, and find the dangling references of its rows.

    Reads the new rows only: PRAGMA foreign_key_check would read the whole table.
    """
    if not connection.in_transaction:
        return ()
    connection.execute("SAVEPOINT look")
    try:
        connection.execute("PRAGMA defer_foreign_keys = ON")
        before = connection.total_changes
        connection.execute(sql, parameters).fetchall()
        return _first_dangling(connection, table, connection.total_changes - before)
    except ERRORS:
        return ()
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO look")
            connection.execute("RELEASE look")
            connection.execute("PRAGMA defer_foreign_keys = OFF")


def _first_dangling(connection: sqlite3.Connection, table: str, rows: int) -> tuple[str, ...]:
    last = connection.execute("SELECT last_insert_rowid()").fetchone()[0]
    for column, parent, key in _references(connection, table):
        # names come from the schema, never from a request
        query = (
            f'SELECT 1 FROM "{table}" AS child WHERE rowid > ? AND rowid <= ?'
            f' AND "{column}" IS NOT NULL AND NOT EXISTS'
            f' (SELECT 1 FROM "{parent}" AS parent WHERE parent."{key}" = child."{column}")'
        )
        if connection.execute(query, (last - rows, last)).fetchone():
            return (column,)
    return ()
