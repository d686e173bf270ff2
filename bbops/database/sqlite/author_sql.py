"""The names and functions that an author's own SQL may use on SQLite, which asks for each."""

from __future__ import annotations

import sqlite3
from typing import Final

from bbops.database.sqlite.functions import bound_functions
from bbops.database.sqlite.limits import OWN_VALUE_BYTES

_ACTIONS: Final = frozenset({
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE,
})  # fmt: skip
_ON_TABLES: Final = _ACTIONS - {
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_FUNCTION
}  # fmt: skip
_OF_TRIGGERS: Final = frozenset({
    (sqlite3.SQLITE_INSERT, "_bbops_outbox"), (sqlite3.SQLITE_READ, "_bbops_cause"),
})  # fmt: skip
"""The actions of our triggers when a statement changes rows. A WITH may have the name of one: it
could read which job runs, and nothing else."""
_NOT_A_PROJECTS: Final = ("_", "sqlite_", "pragma_")
_VIRTUAL: Final = frozenset({"bytecode", "dbstat", "stmt", "tables_used"})
"""Tables that some builds of SQLite have from the beginning, about the file and its statements."""
FUNCTIONS: Final = frozenset({
    "->", "->>", "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "avg",
    "bbops_hex", "bbops_lower", "bbops_number", "bbops_sum", "bbops_trim", "bbops_upper",
    "ceil", "ceiling", "changes", "char", "coalesce", "concat", "concat_ws", "cos", "cosh",
    "count", "cume_dist", "current_date", "current_time", "current_timestamp", "date",
    "datetime", "degrees", "dense_rank", "exp", "first_value", "floor", "format", "glob",
    "group_concat", "hex", "if", "ifnull", "iif", "instr", "json", "json_array",
    "json_array_insert", "json_array_length", "json_each", "json_error_position",
    "json_extract", "json_group_array", "json_group_object", "json_insert", "json_object",
    "json_patch", "json_pretty", "json_quote", "json_remove", "json_replace", "json_set",
    "json_tree", "json_type", "json_valid", "julianday", "lag", "last_insert_rowid",
    "last_value", "lead", "length", "like", "likelihood", "likely", "ln", "log", "log10",
    "log2", "lower", "ltrim", "max", "median", "min", "mod", "nth_value", "ntile", "nullif",
    "octet_length", "percent_rank", "percentile", "percentile_cont", "percentile_disc", "pi",
    "pow", "power", "printf", "quote", "radians", "random", "randomblob", "rank", "replace",
    "round", "row_number", "rtrim", "sign", "sin", "sinh", "soundex", "sqrt", "strftime",
    "string_agg", "substr", "substring", "sum", "tan", "tanh", "time", "timediff", "total",
    "total_changes", "trim", "trunc", "typeof", "unicode", "unixepoch", "unlikely", "upper",
    "zeroblob",
})  # fmt: skip
"""The allowed functions; others read the file or the build, load code, or have no bound."""


class AuthorGuard:
    """An authorizer: SQLite calls it for each name in a statement, while it compiles.

    Attributes:
        refused: the mistake of the last statement; empty without one.
    """

    def __init__(self) -> None:
        self.refused = ""

    def __call__(
        self, action: int, first: str | None, second: str | None, *where: str | None
    ) -> int:
        """Return SQLITE_OK, or SQLITE_DENY and keep the reason."""
        if (action, first) in _OF_TRIGGERS and (where[-1] or "").startswith("_bbops_on_"):
            return sqlite3.SQLITE_OK
        problem = _problem(action, first or "", second or "")
        self.refused = self.refused or problem
        return sqlite3.SQLITE_DENY if problem else sqlite3.SQLITE_OK


def _problem(action: int, first: str, second: str) -> str:
    if action not in _ACTIONS:
        return "a step's statement reads or writes rows, and nothing else"
    if action == sqlite3.SQLITE_FUNCTION and second.lower() not in FUNCTIONS:
        return f"function '{second}' is not allowed in a step's statement"
    name = first.lower()
    if action in _ON_TABLES and (name.startswith(_NOT_A_PROJECTS) or name in _VIRTUAL):
        return f"table '{first}' is not one of the project's"
    return ""


def restrict(connection: sqlite3.Connection) -> AuthorGuard:
    """Restrict a connection to an author's own statements; return the guard that refuses others."""
    guard = AuthorGuard()
    # the first use of these functions declares them, which looks like a change of the schema
    connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')").close()
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, OWN_VALUE_BYTES)
    bound_functions(connection)
    connection.set_authorizer(guard)
    return guard


def complaint(connection: sqlite3.Connection, guard: AuthorGuard, sql: str) -> str:
    """Return the mistake of a statement on a restricted connection; runs nothing."""
    from bbops.database.sqlite.violations import compile_error  # noqa: PLC0415 - it imports this module

    guard.refused = ""
    words = compile_error(connection, sql)
    return guard.refused or (words and f"SQLite says: {words[:1].lower()}{words[1:]}")
