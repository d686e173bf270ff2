"""Which changes of rows a database reports, and with which columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from bbops.runtime.work.row_triggers import OPERATIONS, Operation

NOTE: Final = "row_events"
"""Under which name they are written down in the database."""


@dataclass(frozen=True, slots=True)
class RowEvents:
    """What is reported of a table.

    Attributes:
        operations: in the order of OPERATIONS.
        columns: sorted.
    """

    operations: tuple[Operation, ...]
    columns: tuple[str, ...]

    @classmethod
    def of(cls, operations: Iterable[str], columns: Iterable[str]) -> RowEvents:
        """Return them in order."""
        wanted = {*operations}
        return cls(tuple(one for one in OPERATIONS if one in wanted), tuple(sorted({*columns})))

    def __or__(self, other: RowEvents) -> RowEvents:
        """Return what reports all that either does."""
        return self.of(self.operations + other.operations, self.columns + other.columns)


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


def _written(tables: ByTable) -> dict[str, list[tuple[str, ...]]]:
    return {name: [one.operations, one.columns] for name, one in sorted(tables.items())}


def _read(data: Mapping[str, list[list[str]]]) -> dict[str, RowEvents]:
    return {name: RowEvents.of(*one) for name, one in data.items()}
