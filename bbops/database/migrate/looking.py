"""Look at what tables that nobody has reviewed would do to the live rows, and say no more of them.

A check, an enum or a length that rows break tells one bit of each value. Whoever may propose tables
could ask for values one bit at a time, so what is told of private columns does not depend on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from bbops.database.diff.changes import Change
from bbops.database.diff.preflight import Rows
from bbops.database.migrate import rollout
from bbops.database.migrate.listening import find_all_refused
from bbops.database.migrate.migrate import Migration
from bbops.database.migrate.opened import read_tables
from bbops.database.migrate.rollout_plan import recorded_tables
from bbops.database.schema.place import Place
from bbops.language.resources.table import Column, Index, Table

Tables = Mapping[str, Table]

_OF_A_COLUMN: Final = frozenset({
    "add column", "change the type of column", "forbid null in column",
    "change the rules of column", "change the reference of column",
    "require unique values in column",
})  # fmt: skip
_READ_NOTHING: Final = frozenset({
    "allow null in column", "allow repeated values in column", "change the default of column",
    "create table", "drop column", "drop index", "drop table", "rename column", "rename table",
})  # fmt: skip
"""What no value decides. A kind that is in neither set counts as one that reads the whole table."""

_WHY: Final = "rows are looked at when it is published, since their values are private"


@dataclass(frozen=True, slots=True)
class Looked:
    """The result of a look.

    Attributes:
        migration: as planned.
        told: the migration without values of private columns, for authors of proposals.
        triggers: tables on which no SQL trigger can be created, with the statement that allows it.
    """

    migration: Migration
    told: Migration
    triggers: Mapping[str, str]


def look(place: Place, wanted: Tables, *, seconds: float) -> Looked:
    """Return what `rollout.plan` does, and what may be told of it. Raises as that."""
    migration = rollout.plan(place, wanted, seconds=seconds).migration
    with read_tables(place) as live:
        known, triggers = recorded_tables(live), find_all_refused(live, wanted)
    return Looked(migration, conceal(migration, known, wanted), triggers)


def conceal(migration: Migration, known: Tables, wanted: Tables) -> Migration:
    """Return a migration that says nothing which depends on the values of private columns.

    Args:
        migration: as planned.
        known: the live tables as they were declared: they say what is private.
        wanted: as declared now.
    """
    found = _Concealing(migration, known, wanted)
    return replace(migration, changes=tuple(map(found.conceal, migration.changes)))


class _Concealing:
    def __init__(self, migration: Migration, known: Tables, wanted: Tables) -> None:
        self._renames, self._known, self._wanted = migration.renames, known, wanted

    def conceal(self, change: Change) -> Change:
        """Return a change as it may be told."""
        if self._reads_private(change):
            return Change(*change.key, "depends", _WHY, phase=change.phase)
        key = self._key_of(change.table)
        if change.rows.keys and any(self._is_private(change.table, one) for one in key):
            return replace(change, rows=Rows(change.rows.count))
        return change

    def _reads_private(self, change: Change) -> bool:
        table, what = change.table, change.what
        if change.kind in _READ_NOTHING:
            return False
        if change.kind in _OF_A_COLUMN:
            return self._is_private(table, what) or self._refers_to_private(table, what)
        if change.kind == "create index" and not self._is_unique(table, what):
            return False
        return self._has_private(table)

    def _is_private(self, table: str, column: str) -> bool:
        old = self._known.get(self._renames.old_table(table))
        name = self._renames.old_column(table, column)
        found: Column | None = old.columns.get(name) if old else None
        return found is not None and found.private

    def _has_private(self, table: str) -> bool:
        old = self._known.get(self._renames.old_table(table))
        return old is not None and any(one.private for one in old.columns.values())

    def _refers_to_private(self, table: str, column: str) -> bool:
        new = self._wanted.get(table)
        found: Column | None = new.columns.get(column) if new else None
        if found is None or found.references is None:
            return False
        return self._has_private(str(found.references).partition(".")[0])

    def _is_unique(self, table: str, index: str) -> bool:
        new = self._wanted.get(table)
        found: Index | None = new.indexes.get(index) if new else None
        return found is None or found.unique

    def _key_of(self, table: str) -> Iterator[str]:
        old = self._known.get(self._renames.old_table(table))
        for name, column in old.columns.items() if old else ():
            if column.primary_key or name in (old.primary_key or () if old else ()):
                yield name
