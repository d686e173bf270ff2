"""Where a table enters a statement: as the rows that the statement may see.

A table with rules, or with computed columns, is named in WITH once, and read under that name
wherever the statement reads it: behind FROM, through relations, in an order. Both databases take
such a name for the table itself with one more condition, so indexes serve it as before.
"""

from __future__ import annotations

from bbops.language.sql.types import SqlTable
from bbops.runtime.values.identifiers import quote

_LONGEST = 50


class Visible:
    """The tables with more than the database knows of, by the names of their visible rows."""

    def __init__(self, schema: str = "") -> None:
        """Args: `schema` stands before the names of tables, where the statement has others too."""
        self.found: dict[str, SqlTable] = {}
        self.schema = schema

    def stored(self, table: SqlTable) -> str:
        """Return the name of all rows of a table."""
        return f"{self.schema}{quote(table.name)}"

    def source(self, table: SqlTable) -> str:
        """Return the name of the rows of a table that the statement sees."""
        if not (table.hides or table.computes):
            return self.stored(table)
        kind = "whole"
        if table.rules is not None and table.hides:
            kind = "visible" if table.rules.of("read") else "kept"  # rules see what is kept
        name = quote(f"_{kind}_{table.name}"[:_LONGEST])
        while self.found.setdefault(name, table).name != table.name:
            name = quote(f"{name[1:-1]}_")
        return name
