"""Which changes of rows a subscriber sees: those that a SELECT by its topic's rule would show."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bbops.runtime.flow.run import Run
from bbops.runtime.values.failures import FlowError
from bbops.runtime.work.rows import OPERATIONS, ReadRows, row_event, rows_payload

EPOCH: Final = "realtime_epoch"
"""The note of a database that names the numbers of its changes; another one after a restore."""

INSERTED: Final = "row.inserted"
UPDATED: Final = "row.updated"
LEFT: Final = "row.left"
DELETED: Final = "row.deleted"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """A row after and before a change; None where there is none."""

    new: Row | None
    old: Row | None


@dataclass(frozen=True, slots=True)
class Seen:
    """What a subscriber sees of a change: an event, and its payload."""

    event: str
    payload: Row


@dataclass(frozen=True, slots=True)
class RowsRule:
    """The rows of one topic.

    Attributes:
        table: whose rows.
        read: reads a change.
        primary: the columns of the table's key.
        select: the columns that subscribers see.
        where: says of a subscriber's run and a row whether it may see that; None for all.
        key_columns: columns that `where` wants to be equal to something.
        key: gives what a subscriber's rows have there; None without a `where`.
    """

    table: str
    read: ReadRows
    primary: tuple[str, ...]
    select: tuple[str, ...]
    where: Callable[[Run, Row], Any] | None
    key_columns: tuple[str, ...]
    key: Callable[[Run], tuple[Any, ...]] | None

    @property
    def events(self) -> tuple[str, ...]:
        """The names that changes have in the log."""
        return tuple(row_event(self.table, one) for one in OPERATIONS)

    def change(self, payload: str) -> Change:
        """Read what SQL triggers wrote.

        Raises:
            FlowError: it lacks a column, or holds one of another type: the table has changed.
        """
        found = json.loads(payload)
        for parts in (found.get("newRow"), found.get("oldRow")):
            known = {name for part in parts or () for name in part}
            if parts is not None and not self.read.decoders.keys() <= known:
                raise FlowError("a change of a row lacks a column")
        rows = self.read(rows_payload(payload))
        return Change(rows["newRow"], rows["oldRow"])

    def sees(self, run: Run, change: Change) -> Seen | None:
        """Return what a subscriber sees of a change; None where it sees nothing.

        Raises:
            Exception: whatever its condition raises.
        """
        is_new, is_old = self._may_see(run, change.new), self._may_see(run, change.old)
        if is_new and change.new is not None:
            return Seen(UPDATED if is_old else INSERTED, _part(change.new, self.select))
        if is_old and change.old is not None:
            kind = DELETED if change.new is None else LEFT
            return Seen(kind, _part(change.old, self.primary))
        return None

    def keys_of(self, change: Change) -> set[tuple[Any, ...]]:
        """Return what subscribers have as their key who may see one of its rows."""
        rows = (one for one in (change.new, change.old) if one is not None)
        return {tuple(row[name] for name in self.key_columns) for row in rows}

    def _may_see(self, run: Run, row: Row | None) -> bool:
        if row is None:
            return False
        return self.where is None or bool(self.where(run, row))


def _part(row: Row, names: tuple[str, ...]) -> Row:
    return {name: row[name] for name in names}
