"""The interface of migrations to a database, with one subclass for each kind of database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping

from bbops.database.diff.adopt import Rest
from bbops.database.diff.renames import Renames
from bbops.database.diff.row_mapping import Carry
from bbops.database.schema import shape
from bbops.database.schema.conversions import Conversions, Stored
from bbops.database.schema.ddl import Ddl
from bbops.database.schema.row_events import ByTable
from bbops.database.schema.shape import Difference


class LiveTables(ABC):
    """The tables of one database, inside a transaction of the caller."""

    ddl: Ddl
    newest: tuple[str, ...]
    """The newest of our own tables: if they exist, all of them do."""

    @abstractmethod
    def ask(self, query: str) -> list[tuple[Stored, ...]]:
        """Return the rows of a query, with values in SQLite's stored form."""

    @abstractmethod
    def name(self, table: str) -> str:
        """Return the SQL of a live table's name beside a view of the same name."""

    @abstractmethod
    def limit(self, until: float) -> None:
        """Make a look fail soon after this time of the monotonic clock."""

    @abstractmethod
    def read(self) -> shape.Shape:
        """Return the live tables except our own, whose names begin with `_`."""

    @abstractmethod
    def now(self) -> str:
        """Return the time of the transaction, in stored form."""

    @abstractmethod
    def run(self, statement: str, values: tuple[str, ...]) -> list[tuple[Stored, ...]]:
        """Run one of our statements, with a text for each `?`; return its rows."""

    @abstractmethod
    def has_own(self, table: str) -> bool:
        """Return whether one of our own tables exists."""

    def recorded(self) -> tuple[str, str, str]:
        """Return the hash of the last applied tables, their spec and when; empty without one."""
        query = "SELECT hash, spec, applied_at FROM _bbops_schema"
        rows = self.run(query, ()) if self.has_own("_bbops_schema") else []
        return (str(rows[0][0]), str(rows[0][1]), str(rows[0][2])) if rows else ("", "", "")

    def record(self, spec_hash: str, spec: str, now: str) -> None:
        """Record the applied tables."""
        self.run(
            "INSERT INTO _bbops_schema (id, hash, spec, applied_at) VALUES (1, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, spec = excluded.spec,"
            " applied_at = excluded.applied_at",
            (spec_hash, spec, now),
        )

    def read_note(self, name: str) -> str:
        """Return a recorded note; empty if it does not exist."""
        query = "SELECT text FROM _bbops_notes WHERE name = ?"
        rows = self.run(query, (name,)) if self.has_own("_bbops_notes") else []
        return str(rows[0][0]) if rows else ""

    def write_note(self, name: str, text: str) -> None:
        """Record a note, in place of the earlier one."""
        self.run(
            "INSERT INTO _bbops_notes (name, text) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET text = excluded.text",
            (name, text),
        )

    @abstractmethod
    def make_own_tables(self) -> None:
        """Create the missing ones of bbops' own tables."""

    @abstractmethod
    def silence(self) -> None:
        """Report no changes of this transaction, until `report_changes`."""

    @abstractmethod
    def report_changes(self, wanted: ByTable) -> None:
        """Report these changes from now on, for existing tables and columns."""

    @abstractmethod
    def find_refused_triggers(self, wanted: ByTable) -> Mapping[str, str]:
        """Return tables on which triggers cannot be created, with the statement that allows it."""

    @abstractmethod
    def convert(self, columns: Collection[tuple[str, str, str, str]]) -> Conversions:
        """Return the conversions of these columns: live table, live column, old and new type."""

    @abstractmethod
    def lock(self, tables: Collection[str]) -> None:
        """Lock these tables until the transaction ends."""

    @abstractmethod
    def make_renames(self, renames: Renames) -> None:
        """Make all renames; our own names of indexes and rules may stay the same."""

    @abstractmethod
    def alter(
        self,
        want: shape.Shape,
        differences: Collection[Difference],
        carried: Mapping[str, Carry],
    ) -> None:
        """Turn the live tables, after their renames, into the declared ones."""

    @abstractmethod
    def insert_missing(
        self, table: str, row: Mapping[str, tuple[Stored, str]], key: Collection[str]
    ) -> bool:
        """Insert a row of values with their types, unless one with its `key` is there.

        Raises:
            MigrationRefused: it violates a constraint; the error names it, without a value.
        """

    @staticmethod
    def write_insert(
        table: str, columns: Iterable[str], values: Iterable[str], key: Iterable[str]
    ) -> str:
        """Return the statement of `insert_missing`, for values as SQL."""
        names, keys = (", ".join(f'"{column}"' for column in of) for of in (columns, key))
        given = ", ".join(values)
        return f'INSERT INTO "{table}" ({names}) VALUES ({given}) ON CONFLICT ({keys}) DO NOTHING'

    @abstractmethod
    def finish_rows(self, tables: Collection[str]) -> None:
        """Finish rows that were inserted with their keys; then check all references.

        Raises:
            MigrationRefused: a reference leads to no row.
        """

    @abstractmethod
    def rest(self) -> Rest:
        """Return the parts that `read` leaves out, for adopting another program's database."""
