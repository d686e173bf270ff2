"""Which changes of rows a database reports, and with which columns."""

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
"""Under which name they are written down in the database."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a change must be like to be reported, as SQL of each database.

    Attributes:
        reads: columns with their kinds, sorted: without one of them nothing can be asked.
    """

    sqlite: str
    postgres: str
    reads: tuple[tuple[str, str], ...]

    def __or__(self, other: Condition) -> Condition:
        """Return what holds where either does."""
        if self == other:
            return self
        return Condition(
            f"({self.sqlite}) OR ({other.sqlite})", f"({self.postgres}) OR ({other.postgres})",
            tuple(sorted({*self.reads, *other.reads})),
        )  # fmt: skip


Conditions = Mapping[Operation, Condition]


@dataclass(frozen=True, slots=True)
class RowEvents:
    """What is reported of a table.

    Attributes:
        operations: in the order of OPERATIONS.
        columns: sorted.
        conditions: of operations of which not every change is reported.
    """

    operations: tuple[Operation, ...]
    columns: tuple[str, ...]
    conditions: Conditions = field(default_factory=dict)

    @classmethod
    def of(
        cls, operations: Iterable[str], columns: Iterable[str],
        conditions: Conditions = MappingProxyType({}),
    ) -> RowEvents:  # fmt: skip
        """Return them in order."""
        wanted = tuple(one for one in OPERATIONS if one in {*operations})
        asked = {one: conditions[one] for one in wanted if one in conditions}
        return cls(wanted, tuple(sorted({*columns})), asked)

    def __or__(self, other: RowEvents) -> RowEvents:
        """Return what reports all that either does."""
        operations = self.operations + other.operations
        return self.of(operations, self.columns + other.columns, self._either(other))

    def _either(self, other: RowEvents) -> Conditions:
        found = dict[Operation, Condition]()
        for one in {*self.operations, *other.operations}:
            of = [each for each in (self, other) if one in each.operations]
            asked = [each.conditions[one] for each in of if one in each.conditions]
            if len(asked) == len(of):
                found[one] = reduce(or_, asked)
        return found


ByTable = Mapping[str, RowEvents]


@dataclass(frozen=True, slots=True)
class Listening:
    """Who listens to a database.

    Attributes:
        live: what the release that serves waits for.
        coming: what the next one waits for, which is about to go live; None without one.
        release: the digest of that one.
    """

    live: ByTable
    coming: ByTable | None = None
    release: str = ""

    @property
    def every(self) -> ByTable:
        """What is to be reported."""
        return join(self.live, self.coming or {})


NOBODY: Final = Listening({})


def join(one: ByTable, other: ByTable) -> ByTable:
    """Return what reports all that either does."""
    found = dict(one)
    for table, events in other.items():
        found[table] = found[table] | events if table in found else events
    return found


def write_listening(one: Listening) -> str:
    """Return it as a text."""
    if one == NOBODY:
        return ""
    coming = None if one.coming is None else _written(one.coming)
    return json.dumps([_written(one.live), coming, one.release])


def read_listening(text: str) -> Listening:
    """Return what was written."""
    if not text:
        return NOBODY
    live, coming, release = json.loads(text)
    return Listening(_read(live), None if coming is None else _read(coming), release)


def _written(tables: ByTable) -> dict[str, list[Any]]:
    return {
        name: [one.operations, one.columns, {of: astuple(at) for of, at in one.conditions.items()}]
        for name, one in sorted(tables.items())
    }


def _read(data: Mapping[str, list[Any]]) -> dict[str, RowEvents]:
    return {
        name: RowEvents.of(operations, columns, _conditions(*conditions))
        for name, (operations, columns, *conditions) in data.items()
    }


def _conditions(data: Mapping[Operation, list[Any]] = MappingProxyType({})) -> Conditions:
    """Return what was written; earlier versions wrote none."""
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
        tables = ", ".join(f"'{one}'" for one in refused)
        grants = "; ".join(dict.fromkeys(refused.values()))
        raise TriggerRefused(
            f"this database role may not create an SQL trigger on {tables}",
            hint=f"run this as the owner of the table, or as a superuser: {grants}",
        )
