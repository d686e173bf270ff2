"""Find the effects on tables, from the declarations of two projects; other code counts rows.

The words and the classes are the same as in `bbops db plan`. An effect that depends on the rows
counts as its worst case until the live database has answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bbops.base.diagnostics import Place
from bbops.database.diff.changes import Change
from bbops.database.diff.compare import Comparison
from bbops.database.diff.preflight import Preflight, Rows
from bbops.database.diff.renames import find_renames, with_renames
from bbops.database.diff.row_mapping import Carrier
from bbops.database.schema.shape import Reference, differ
from bbops.database.sqlite.ddl import SqliteConversions, SqliteDdl
from bbops.review.plan.changes import Pairs

Risk = Literal["safe", "depends", "destructive", "impossible"]
"""`depends`: on rows that are not counted yet; without rows in the way it is safe."""

_ORDER: dict[Risk, int] = {"impossible": 0, "destructive": 1, "depends": 2, "safe": 3}


@dataclass(frozen=True, slots=True)
class TableChange:
    """One change of the tables.

    Attributes:
        kind: for example `drop column`.
        what: a column or an index of the table; empty for the table itself.
        why: the effect on rows, if there is one.
        rows: the number of rows; null if they were not counted.
        keys: the keys of the first rows.
        when: relative to the moment the new release serves; empty if it is not known yet.
    """

    kind: str
    table: str
    what: str
    risk: Risk
    why: str
    rows: int | None
    keys: str
    when: str
    cure: str
    file: str
    line: int

    @property
    def name(self) -> str:
        """`table.column`, or the table."""
        return f"{self.table}.{self.what}" if self.what else self.table


def find_tables(pairs: Pairs) -> tuple[TableChange, ...]:
    """Return the changes of the declared tables, most severe first."""
    base = {name: table.model for name, table in pairs.base.tables.items()}
    head = {name: table.model for name, table in pairs.head.tables.items()}
    if (
        all(old.blob == new.blob for old, new in pairs.both("tables"))
        and base.keys() == head.keys()
    ):
        return ()
    ddl, conversions = SqliteDdl(), SqliteConversions()
    live, renames = ddl.describe(base), find_renames(base, head)
    have, want = with_renames(live, renames), ddl.describe(head)
    carried = Carrier(ddl, conversions.converted, "").carry_rows(live, head, renames)
    rows = _AnyRows(_ask_nobody, live, str, head, carried)
    differences = differ(have, want)
    compared = Comparison(head, have, want, differences, renames, rows, ddl, conversions)
    return sort_changes(_unknown(pairs, change) for change in compared.changes())


class _AnyRows(Preflight):
    """Rows before they are counted: every change meets its worst case."""

    def find(self, table: str, condition: str = "1 = 1") -> Rows:  # noqa: ARG002
        return Rows(1) if self.carried[table].source else Rows()

    def find_live(self, table: str, condition: str) -> Rows:
        return self.find(table, condition)

    def count_live(self, table: str) -> int:  # noqa: ARG002
        return 1

    def find_dangling(self, table: str, column: str, reference: Reference) -> Rows:  # noqa: ARG002
        return Rows() if self._is_empty(table, column) else self.find(table)

    def find_repeated(
        self, table: str, columns: Sequence[str], where: str = "", keys: Sequence[str] = ()
    ) -> Rows:
        del where, keys
        is_unlike = any(self._is_empty(table, column) for column in columns)
        return Rows() if is_unlike else self.find(table)

    def _is_empty(self, table: str, column: str) -> bool:
        """Return whether a column joins with null in every row, which breaks no rule."""
        carried = self.carried[table].columns.get(column)
        return carried is not None and not carried.origin and carried.filler is None


def _ask_nobody(query: str) -> list[tuple[Any, ...]]:
    raise AssertionError(query)


def _unknown(pairs: Pairs, change: Change) -> TableChange:
    """Return a change without a number of rows."""
    if change.risk == "safe" or _joins_alone(pairs, change):
        return _change(pairs, Change(*change.key, why="" if change.rows else change.why), "safe")
    is_loss = change.risk == "destructive" and change.kind.startswith("drop")
    return _change(pairs, change, "destructive" if is_loss else "depends")


def _joins_alone(pairs: Pairs, change: Change) -> bool:
    """Return whether a column joins every row without breaking its rules."""
    if change.kind != "add column":
        return False
    column = pairs.head.tables[change.table].model.columns[change.what]
    return column.nullable if column.default is None else not column.references


def _change(pairs: Pairs, change: Change, risk: Risk) -> TableChange:
    at = _place(pairs, change.table, change.what)
    return TableChange(
        *change.key, risk, change.why, None, "", "", change.cure, at.file, at.line
    )  # fmt: skip


def _place(pairs: Pairs, table: str, what: str) -> Place:
    for project in (pairs.head, pairs.base):
        found = project.tables.get(table)
        if found is not None and (not what or what in found.model.columns):
            return found.place("columns", what, key=True) if what else Place(found.file)
        if found is not None and what in found.model.indexes:
            return found.place("indexes", what, key=True)
    return Place(f"tables/{table}.yaml")


def sort_changes(found: Iterable[TableChange]) -> tuple[TableChange, ...]:
    """Return changes with the most severe first, else in the order of their execution."""
    return tuple(sorted(found, key=lambda change: _ORDER[change.risk]))
