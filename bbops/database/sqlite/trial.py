"""Try an author's own SQL on the declared tables before there is a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from bbops.database.sqlite.author_sql import complaint, restrict
from bbops.database.sqlite.connection import add_functions
from bbops.language.sql.types import Table
from bbops.runtime.values.identifiers import quote


class Trial:
    """An empty database in memory: names of tables and columns, and what is unique."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self.connection = sqlite3.connect(":memory:", check_same_thread=False)
        add_functions(self.connection)
        for table in tables.values():
            self.connection.execute(_create(table))
        self.guard = restrict(self.connection)

    def complaint(self, sql: str) -> str:
        """Return what SQLite has against a statement, or an empty text; runs nothing."""
        return complaint(self.connection, self.guard, sql)

    def close(self) -> None:
        """Free it."""
        self.connection.close()


def _create(table: Table) -> str:
    columns = [quote(name) for name in table.columns]
    rules = [f"UNIQUE ({', '.join(map(quote, sorted(names)))})" for names in table.uniques]
    return f"CREATE TABLE {quote(table.name)} ({', '.join([*columns, *rules])})"
