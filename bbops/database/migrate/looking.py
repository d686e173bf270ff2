"""Find the effects of unreviewed tables on the live rows, and reveal no more than that.

A check, an enum or a length that rows break reveals one bit of each value. The author of a proposal
could read values one bit at a time, so reports on private columns do not depend on them.
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
"""Kinds that no value decides. Kinds in neither set count as reading the whole table."""

_WHY: Final = "rows are looked at when it is published, since their values are private"


@dataclass(frozen=True, slots=True)
class Looked:
    """The result of a look.

    Attributes:
        migration: the planned migration.
        told: the migration without values of private columns, for authors of proposals.
        triggers: tables on which no SQL trigger can be created, with the statement that allows it.
    """

    migration: Migration
    told: Migration
    triggers: Mapping[str, str]


def look(place: Place, wanted: Tables, *, seconds: float) -> Looked:
    """Return the plan of `rollout.plan`, and its version for authors. Raises as `rollout.plan`."""
    migration = rollout.plan(place, wanted, seconds=seconds).migration
    with read_tables(place) as live:
        known, triggers = recorded_tables(live), find_all_refused(live, wanted)
    return Looked(migration, conceal(migration, known, wanted), triggers)


def conceal(migration: Migration, known: Tables, wanted: Tables) -> Migration:
    """Return a migration that does not depend on the values of private columns.

    Args:
        migration: the planned migration.
        known: the declarations of the live tables, which say what is private.
        wanted: the declared tables.
    """
    found = _Concealing(migration, known, wanted)
    return replace(migration, changes=tuple(map(found.conceal, migration.changes)))


class _Concealing:
    def __init__(self, migration: Migration, known: Tables, wanted: Tables) -> None:
        self._renames, self._known, self._wanted = migration.renames, known, wanted

    def conceal(self, change: Change) -> Change:
        """Return a change without private values."""
        if self._reads_private(change):
            return Change(*change.key, "depends", _WHY, phase=change.phase)
        key = self._key_of(change.table)
        if change.rows.keys and any(self._is_private(change.table, column) for column in key):
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
        return old is not None and any(column.private for column in old.columns.values())

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
