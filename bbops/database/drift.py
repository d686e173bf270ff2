"""Find what somebody changed by hand: live tables that differ from those that were applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bbops.database import migrate, shape
from bbops.database.adopt import Declared, adopt
from bbops.database.live_tables import LiveTables
from bbops.database.opened import read_tables
from bbops.database.place import Place
from bbops.database.renames import with_kinds
from bbops.database.shape import Difference
from bbops.resources.table import Table

_SAID: Final = {
    "add table": "a table is gone", "drop table": "a table was added",
    "add column": "a column is gone", "drop column": "a column was added",
    "type": "a column has another type", "null": "null is allowed or forbidden in a column",
    "default": "a column has another default", "counts": "a key counts in another way",
    "rules": "the rules of a column differ", "reference": "a reference differs",
    "key": "the primary key differs", "table rules": "the checks of a table differ",
    "add index": "an index is gone", "drop index": "an index was added",
}  # fmt: skip
_COPIED: Final = ("nullable", "default", "references", "onDelete", "type", "auto", "unique")


@dataclass(frozen=True, slots=True)
class Drift:
    """Something that differs, and the whole table as it is now, in the words of its file."""

    what: str
    name: str

    def __str__(self) -> str:
        return f"{self.what}: '{self.name}'"


@dataclass(frozen=True, slots=True)
class Drifted:
    """What was changed by hand; empty when nothing was.

    Attributes:
        found: each difference.
        tables: those that differ, as files would say them; None for one that is gone.
        remarks: what files cannot say of them.
    """

    found: tuple[Drift, ...]
    tables: Mapping[str, Declared | None]
    remarks: tuple[str, ...] = ()


def find_drift(place: Place) -> Drifted:
    """Return what differs from the tables that were applied last. Reads no row.

    Raises:
        DatabaseError: the database cannot be read, or no project's tables were made in it.
    """
    with read_tables(place) as live:
        return _find(live, migrate.read_spec(live, place))


def _find(live: LiveTables, spec: str) -> Drifted:
    applied = migrate.tables_of(spec)
    want = live.words.describe(applied)
    have = with_kinds(live.read(), migrate.types_of(spec))
    differences = [one for one in shape.differ(have, want) if _counts(one)]
    if not differences:
        return Drifted((), {})
    changed = {one.table for one in differences}
    adopted = adopt(have, live.rest(), only=changed)
    tables = {
        name: _merged(applied.get(name), adopted.tables.get(name), have.get(name))
        for name in sorted(changed)
    }
    found = tuple(dict.fromkeys(_told(one) for one in differences))
    remarks = tuple(one for one in adopted.remarks if any(f"'{name}" in one for name in changed))
    return Drifted(found, tables, remarks)


def _counts(one: Difference) -> bool:
    """Leave out names, and checks of tables, of which only the SQL is on record."""
    return one.kind in _SAID and one.kind != "table rules"


def _told(one: Difference) -> Drift:
    return Drift(_SAID[one.kind], f"{one.table}.{one.what}" if one.what else one.table)


def _merged(
    applied: Table | None, live: Declared | None, have: shape.Table | None
) -> Declared | None:
    """Return the table as it is now: what was applied, without what is gone, with what is new."""
    if applied is None or live is None or have is None:
        return live
    declared: dict[str, Any] = applied.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude={"checks", "renamed_from"}
    )
    columns = {
        name: _column(declared["columns"].get(name), column)
        for name, column in live["columns"].items()
    }
    found = {**declared, **live, "columns": columns}
    if "indexes" not in live:
        found.pop("indexes", None)
    return found


def _column(declared: Declared | None, live: Declared) -> Declared:
    if declared is None:
        return live
    kept = {key: value for key, value in declared.items() if key not in _COPIED}
    if declared.get("auto"):
        live = {**live, "auto": declared["auto"]}
        live.pop("default", None)
    return {"type": live["type"], **kept, **live}


def lines(drifted: Drifted) -> Iterator[str]:
    """Yield what a person is told."""
    yield from map(str, drifted.found)
    yield from drifted.remarks
