"""The names that an author's own SQL may not use, on any database.

SQLite asks about each name as it compiles (see `bbops.database.sqlite.author_sql`). PostgreSQL has
the permissions of the role instead, and these words: its catalog, and functions that run SQL out of
texts, wait, or reach files, other servers and settings.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

_NAMES: Final = ("_bbops", "pg_", "pragma_", "sqlite_")
_CALLS: Final = ("dblink", "lo_", "inet_client_", "inet_server_", "crosstab")
_TO_XML: Final = (
    "query_to_xml",
    "table_to_xml",
    "cursor_to_xml",
    "schema_to_xml",
    "database_to_xml",
)
_FUNCTIONS: Final = frozenset({
    "connectby", "current_setting", "load_extension", "loread", "lowrite", "readfile", "set_config",
    "setval", "ts_rewrite", "ts_stat", "version", "writefile", "xpath_table",
})  # fmt: skip
_BEFORE_INTO: Final = frozenset({
    "insert", "replace", "ignore", "abort", "fail", "rollback", "merge",
})  # fmt: skip


def closed(words: Sequence[str], calls: Collection[str]) -> str:
    """Return the mistake in the names of a statement, or an empty text.

    Args:
        words: its words without texts, in lower case.
        calls: the words before a parenthesis.
    """
    for word in words:
        if word.startswith(_NAMES) or word == "information_schema":
            return f"'{word}' is not allowed in a step's statement"
    for name in sorted(calls):
        if name in _FUNCTIONS or name.startswith((*_CALLS, *_TO_XML)):
            return f"function '{name}' is not allowed in a step's statement"
    for before, word in zip(("", *words), words, strict=False):
        if word == "into" and before not in _BEFORE_INTO:
            return "'SELECT … INTO' creates a table: a step's statement reads or writes rows"
    return ""
