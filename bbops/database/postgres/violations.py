"""Turn PostgreSQL's errors into failures of flows, in the words of `sqlite.violations`.

They contain no values: PostgreSQL's own messages are passed on only if they come from the
statement.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import asyncpg

from bbops.database.sqlite.limits import LONGEST_STATEMENT_SECONDS
from bbops.database.sqlite.violations import target
from bbops.runtime.data.postgres_rows import TOO_LONG
from bbops.runtime.data.rows import too_long
from bbops.runtime.values.failures import (
    BadValue,
    Conflict,
    DatabaseFailure,
    FlowError,
    InvalidInput,
    StatementTimeout,
    Unavailable,
)
from bbops.runtime.values.formats import HAS_NUL

ERRORS: Final = (
    asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError,
    TimeoutError, ValueError, TypeError, OverflowError,
)  # fmt: skip
"""Everything asyncpg raises when it runs a statement."""
COLUMNS: Final = """
SELECT a.attname FROM pg_catalog.pg_attribute AS a JOIN (
  SELECT conrelid AS rel, conkey::int[] AS keys FROM pg_catalog.pg_constraint
  WHERE conname = $2 AND conrelid = to_regclass($1)
  UNION ALL
  SELECT indrelid, indkey::int[] FROM pg_catalog.pg_index AS i
  JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
  WHERE c.relname = $2 AND i.indrelid = to_regclass($1)
) AS rule ON a.attrelid = rule.rel AND a.attnum = ANY(rule.keys)
GROUP BY a.attname ORDER BY min(array_position(rule.keys, a.attnum::int))
"""
"""The columns of a rule, by its quoted table and its name."""

LookUp = Callable[[str, str], Awaitable[Sequence[str]]]
"""Returns the columns of a rule, by its table and name."""

_PASSING: Final = {
    "53100": (
        "storageFull", "the disk of the database is full",
        "free space on the disk of the database server; writes then resume automatically", 10,
    ),
    "25006": (
        "storageReadOnly", "the database is read-only",
        "DATABASE_URL must name the server that takes writes, not a replica", 10,
    ),
    "53200": ("storageFailed", "the database server has no memory left", "give it more", 10),
    "58030": ("storageFailed", "the database's disk has an error", "check the server's disk", 10),
    "55P03": (
        "storageBusy", "the database is locked by another program",
        "end the program that holds the lock, such as a shell with an open transaction", 1,
    ),
}  # fmt: skip
"""Code, message, hint and the seconds after which to try again."""
_CONFLICTS: Final = frozenset({"40001", "40P01"})
_GONE: Final = frozenset({"57P01", "57P02", "57P03", "53300"})


def unreachable() -> Unavailable:
    """Return the failure for a server that does not answer."""
    return Unavailable(
        "storageFailed", "the database server cannot be reached",
        hint="check that it is running, and that DATABASE_URL points to it", retry_seconds=2,
    )  # fmt: skip


def is_lost(error: BaseException) -> bool:
    """Return whether the connection is gone, or the server ends it."""
    state = str(getattr(error, "sqlstate", None) or "")
    gone = state in _GONE or state.startswith("08")
    # asyncpg raises an InterfaceError for 'connection is closed' and for its own misuse
    closed = isinstance(error, asyncpg.InterfaceError) and "clos" in str(error)
    return gone or closed or isinstance(error, OSError | TimeoutError | asyncpg.InternalClientError)


def is_conflict(error: BaseException) -> bool:
    """Return whether another transaction interfered: a retry may succeed."""
    return getattr(error, "sqlstate", None) in _CONFLICTS


async def failure_of(error: Exception, sql: str, columns_of: LookUp) -> Exception:
    """Return the failure for an error; a failure stays as it is."""
    state = str(getattr(error, "sqlstate", None) or "")
    if isinstance(error, asyncpg.IntegrityConstraintViolationError):
        return await _violation(error, sql, columns_of)
    if is_lost(error):
        return unreachable()
    if is_conflict(error):
        return Conflict()
    if state == "22021":
        return InvalidInput({}, f"a text {HAS_NUL}")
    if state == "57014":
        return StatementTimeout(LONGEST_STATEMENT_SECONDS)
    if state == "22P02" and TOO_LONG in str(error):
        most, _, column = str(error).partition(TOO_LONG)[2].strip('"').partition(":")
        return too_long(column, int(most))
    if state.startswith("22") or isinstance(error, OverflowError):
        return BadValue(
            f"the statement failed: {_words(error, state)}", said="a value does not fit"
        )
    if state in _PASSING:
        name, message, hint, seconds = _PASSING[state]
        return Unavailable(name, message, hint=hint, retry_seconds=seconds)
    return FlowError(f"the statement failed: {_words(error, state)}")


def _words(error: Exception, state: str) -> str:
    if state.startswith("42"):  # a mistake in the statement's text
        return str(error).partition("\n")[0]
    if state.startswith("22") and isinstance(error, asyncpg.PostgresError) and error.severity:
        return f"{_spaced(type(error).__name__)} while it ran"
    if not state or state.startswith("22"):
        return "a parameter does not fit in a column"
    return f"{_spaced(type(error).__name__)} while it ran"


def _spaced(name: str) -> str:
    """Return `NumericValueOutOfRangeError` as words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Error")).lower()


async def _violation(error: Any, sql: str, columns_of: LookUp) -> Exception:
    table, rule = error.table_name or "", error.constraint_name or ""
    if isinstance(error, asyncpg.NotNullViolationError):
        column = error.column_name or ""
        return DatabaseFailure("notNull", table, (column,), f"'{column}' may not be null")
    verb, changed = target(sql)
    if isinstance(error, asyncpg.ForeignKeyViolationError):
        if verb == "delete":
            message = "other rows still refer to this row"
            return DatabaseFailure("foreignKey", changed, (), message)
        columns = await columns_of(table, rule) if table == changed else ()
        return _dangling(changed, columns)
    columns = await columns_of(table, rule)
    if isinstance(error, asyncpg.UniqueViolationError):
        named = ", ".join(f"'{column}'" for column in columns)
        message = f"a row with this {named} exists already"
        return DatabaseFailure("unique", table, columns, message)
    if isinstance(error, asyncpg.CheckViolationError) and rule.startswith(f"ct_{table}_"):
        check = rule.removeprefix(f"ct_{table}_")[:-9]
        return DatabaseFailure("check", table, (), f"the row violates the check '{check}'")
    if isinstance(error, asyncpg.CheckViolationError):
        one = columns[0] if len(columns) == 1 else ""
        message = (
            f"'{one}' violates a rule of its column" if one else "the row violates a constraint"
        )
        return DatabaseFailure("check", table, columns if one else (), message)
    return FlowError("the statement failed: a value does not fit, or a trigger refused it")


def _dangling(table: str, columns: Sequence[str]) -> DatabaseFailure:
    if not columns:
        return DatabaseFailure("foreignKey", table, (), "a row that is referred to does not exist")
    message = f"'{columns[0]}' refers to a row that does not exist"
    return DatabaseFailure("foreignKey", table, columns, message)
