"""Try an author's own SQL on the declared tables, without a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from bbops.database.sqlite.author_sql import complaint, restrict
from bbops.database.sqlite.connection import add_functions
from bbops.language.sql.checks import kept_sql
from bbops.language.sql.sqlite import SQLITE_CHECK
from bbops.language.sql.types import Partial, SqlTable
from bbops.runtime.values.identifiers import quote


class TrialDatabase:
    """An empty database in memory: names of tables and columns, and unique columns."""

    def __init__(
        self, tables: Mapping[str, SqlTable], elsewhere: Mapping[str, str] | None = None
    ) -> None:  # fmt: skip
        """Args: `elsewhere` has tables with other names here, and their names in SQL."""
        self.connection = sqlite3.connect(":memory:", check_same_thread=False)
        add_functions(self.connection)
        for table in tables.values():
            name = (elsewhere or {}).get(table.name) or quote(table.name)
            self.connection.execute(_create(table, name))
            for at, partial in enumerate(table.partial):
                self.connection.execute(_index(table, name, partial, at))
        self.guard = restrict(self.connection)

    def complaint(self, sql: str) -> str:
        """Return SQLite's complaint about a statement, or an empty text; runs nothing."""
        return complaint(self.connection, self.guard, sql)

    def columns(self, sql: str, count: int) -> tuple[str, ...] | None:
        """Return the columns of a reading statement; None if they are unknown.

        The statement is wrapped in a query without rows, so nothing runs.

        Args:
            count: the number of its parameters.
        """
        try:
            found = self.connection.execute(f"SELECT * FROM ({sql}\n) LIMIT 0", (None,) * count)
        except sqlite3.Error:
            return None
        return tuple(name for name, *_ in found.description)

    def close(self) -> None:
        """Free the database."""
        self.connection.close()


def _index(table: SqlTable, name: str, partial: Partial, at: int) -> str:
    where = kept_sql(table.name, table.columns, partial.where, SQLITE_CHECK)
    names = ", ".join(map(quote, sorted(partial.columns)))
    of = quote(f"{table.name} {at}")
    return f"CREATE UNIQUE INDEX {of} ON {name} ({names}) WHERE ({where})"


def _create(table: SqlTable, name: str) -> str:
    columns = [quote(name) for name in table.columns]
    rules = [f"UNIQUE ({', '.join(map(quote, sorted(names)))})" for names in table.uniques]
    return f"CREATE TABLE {name} ({', '.join([*columns, *rules])})"
