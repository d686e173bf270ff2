"""What a migration asks of a database: one class for each kind of database stands behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping

from bbops.database.diff.adopt import Rest
from bbops.database.diff.renames import Renames
from bbops.database.diff.row_mapping import Carry
from bbops.database.schema import shape
from bbops.database.schema.conversions import Conversions
from bbops.database.schema.ddl import Ddl
from bbops.database.schema.literals import Stored
from bbops.database.schema.row_events import ByTable
from bbops.database.schema.shape import Difference


class LiveTables(ABC):
    """The tables of one database, inside a transaction of the caller."""

    ddl: Ddl
    newest: tuple[str, ...]
    """Those of our own tables that came last: where they are, all are."""

    @abstractmethod
    def ask(self, query: str) -> list[tuple[Stored, ...]]:
        """Return the rows of a query, with values as SQLite stores them."""

    @abstractmethod
    def name(self, table: str) -> str:
        """Return how SQL names a live table where a view of the query has the same name."""

    @abstractmethod
    def limit(self, until: float) -> None:
        """Let a look fail that is not done soon after then, by the monotonic clock."""

    @abstractmethod
    def read(self) -> shape.Shape:
        """Return the live tables but our own, which begin with `_`."""

    @abstractmethod
    def now(self) -> str:
        """Return the time of the transaction, as it is stored."""

    @abstractmethod
    def run(self, statement: str, values: tuple[str, ...]) -> list[tuple[Stored, ...]]:
        """Run a statement of ours, with texts for each `?` of it; return its rows."""

    @abstractmethod
    def has_own(self, table: str) -> bool:
        """Return whether a table of ours is there."""

    def recorded(self) -> tuple[str, str, str]:
        """Return the hash of the last applied tables, their spec and when; empty without one."""
        query = "SELECT hash, spec, applied_at FROM _bbops_schema"
        rows = self.run(query, ()) if self.has_own("_bbops_schema") else []
        return (str(rows[0][0]), str(rows[0][1]), str(rows[0][2])) if rows else ("", "", "")

    def record(self, spec_hash: str, spec: str, now: str) -> None:
        """Write down what was applied."""
        self.run(
            "INSERT INTO _bbops_schema (id, hash, spec, applied_at) VALUES (1, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, spec = excluded.spec,"
            " applied_at = excluded.applied_at",
            (spec_hash, spec, now),
        )

    def read_note(self, name: str) -> str:
        """Return a text that was written down beside the tables; empty without one."""
        query = "SELECT text FROM _bbops_notes WHERE name = ?"
        rows = self.run(query, (name,)) if self.has_own("_bbops_notes") else []
        return str(rows[0][0]) if rows else ""

    def write_note(self, name: str, text: str) -> None:
        """Write a text down, in place of the one before."""
        self.run(
            "INSERT INTO _bbops_notes (name, text) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET text = excluded.text",
            (name, text),
        )

    @abstractmethod
    def make_own_tables(self) -> None:
        """Make what is missing of the tables that bbops keeps for itself."""

    @abstractmethod
    def silence(self) -> None:
        """Report nothing that the transaction changes, until `report_changes`."""

    @abstractmethod
    def report_changes(self, wanted: ByTable) -> None:
        """Report these changes from now on, as far as the tables and columns are there."""

    @abstractmethod
    def find_refused_triggers(self, wanted: ByTable) -> Mapping[str, str]:
        """Return tables on which triggers cannot be created, with the statement that allows it."""

    @abstractmethod
    def convert(self, columns: Collection[tuple[str, str, str, str]]) -> Conversions:
        """Return the conversions of these columns: live table, live column, old and new type."""

    @abstractmethod
    def lock(self, tables: Collection[str]) -> None:
        """Keep others from these tables until the transaction ends."""

    @abstractmethod
    def make_renames(self, renames: Renames) -> None:
        """Make all renames; our own names of indexes and rules may stay the old ones."""

    @abstractmethod
    def alter(
        self,
        want: shape.Shape,
        differences: Collection[Difference],
        carried: Mapping[str, Carry],
    ) -> None:
        """Make the live tables, renamed by now, the declared ones."""

    @abstractmethod
    def insert_missing(
        self, table: str, row: Mapping[str, tuple[Stored, str]], key: Collection[str]
    ) -> bool:
        """Insert a row of values with their types, unless one with its `key` is there.

        Raises:
            MigrationRefused: it violates a constraint; says which, without a value.
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
        """Do what rows that came with their keys leave to do; then check all references.

        Raises:
            MigrationRefused: a row refers to none.
        """

    @abstractmethod
    def rest(self) -> Rest:
        """Return what `read` leaves out: for adopting a database that something else made."""
