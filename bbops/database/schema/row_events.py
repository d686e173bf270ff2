"""The changes of rows that a database reports, and their columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Any, Final

from bbops.base.errors import TriggerRefused
from bbops.runtime.work.rows import OPERATIONS, Operation

NOTE: Final = "row_events"
"""The name of their note in the database."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of a reported change, as SQL of each database.

    Attributes:
        reads: the columns with their kinds, sorted: if one is missing, there is no condition.
    """

    sqlite: str
    postgres: str
    reads: tuple[tuple[str, str], ...]

    def __or__(self, other: Condition) -> Condition:
        """Return a condition that holds if either does."""
        if self == other:
            return self
        return Condition(
            f"({self.sqlite}) OR ({other.sqlite})", f"({self.postgres}) OR ({other.postgres})",
            tuple(sorted({*self.reads, *other.reads})),
        )  # fmt: skip


Conditions = Mapping[Operation, Condition]


@dataclass(frozen=True, slots=True)
class RowEvents:
    """The reported changes of a table.

    Attributes:
        operations: the operations in the order of OPERATIONS.
        columns: the columns, sorted.
        conditions: the conditions of operations, unless every change is reported.
    """

    operations: tuple[Operation, ...]
    columns: tuple[str, ...]
    conditions: Conditions = field(default_factory=dict)

    @classmethod
    def of(
        cls, operations: Iterable[str], columns: Iterable[str],
        conditions: Conditions = MappingProxyType({}),
    ) -> RowEvents:  # fmt: skip
        """Return the events in normal order."""
        wanted = tuple(operation for operation in OPERATIONS if operation in {*operations})
        asked = {
            operation: conditions[operation] for operation in wanted if operation in conditions
        }
        return cls(wanted, tuple(sorted({*columns})), asked)

    def __or__(self, other: RowEvents) -> RowEvents:
        """Return the events that include both."""
        operations = self.operations + other.operations
        return self.of(operations, self.columns + other.columns, self._either(other))

    def _either(self, other: RowEvents) -> Conditions:
        found = dict[Operation, Condition]()
        for operation in {*self.operations, *other.operations}:
            of = [each for each in (self, other) if operation in each.operations]
            asked = [each.conditions[operation] for each in of if operation in each.conditions]
            if len(asked) == len(of):
                found[operation] = reduce(or_, asked)
        return found


ByTable = Mapping[str, RowEvents]


@dataclass(frozen=True, slots=True)
class Listening:
    """The listeners of a database.

    Attributes:
        live: the events of the serving release.
        coming: the events of the release that is about to go live; None without one.
        release: the digest of the coming release.
    """

    live: ByTable
    coming: ByTable | None = None
    release: str = ""

    @property
    def every(self) -> ByTable:
        """The events to report."""
        return join(self.live, self.coming or {})


NOBODY: Final = Listening({})


def join(one: ByTable, other: ByTable) -> ByTable:
    """Return the events that include both, by table."""
    found = dict(one)
    for table, events in other.items():
        found[table] = found[table] | events if table in found else events
    return found


def write_listening(one: Listening) -> str:
    """Return the listeners as text."""
    if one == NOBODY:
        return ""
    coming = None if one.coming is None else _written(one.coming)
    return json.dumps([_written(one.live), coming, one.release])


def read_listening(text: str) -> Listening:
    """Return the listeners from their text."""
    if not text:
        return NOBODY
    live, coming, release = json.loads(text)
    return Listening(_read(live), None if coming is None else _read(coming), release)


def _written(tables: ByTable) -> dict[str, list[Any]]:
    return {
        name: [
            table.operations,
            table.columns,
            {of: astuple(at) for of, at in table.conditions.items()},
        ]
        for name, table in sorted(tables.items())
    }


def _read(data: Mapping[str, list[Any]]) -> dict[str, RowEvents]:
    return {
        name: RowEvents.of(operations, columns, _conditions(*conditions))
        for name, (operations, columns, *conditions) in data.items()
    }


def _conditions(data: Mapping[Operation, list[Any]] = MappingProxyType({})) -> Conditions:
    """Return the recorded conditions; earlier versions recorded none."""
    return {
        operation: Condition(sqlite, postgres, tuple((name, kind) for name, kind in reads))
        for operation, (sqlite, postgres, reads) in data.items()
    }


def refuse(refused: Mapping[str, str]) -> None:
    """Refuse tables on which no SQL trigger can be created.

    Args:
        refused: the statement that allows it, by table.

    Raises:
        TriggerRefused: there are such tables.
    """
    if refused:
        tables = ", ".join(f"'{table}'" for table in refused)
        grants = "; ".join(dict.fromkeys(refused.values()))
        raise TriggerRefused(
            f"this database role may not create an SQL trigger on {tables}",
            hint=f"run this as the owner of the table, or as a superuser: {grants}",
        )
