"""Find changes by hand: live tables that differ from the applied ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bbops.database.diff.adopt import Declared, adopt
from bbops.database.diff.live_tables import LiveTables
from bbops.database.diff.renames import with_kinds
from bbops.database.migrate import migrate
from bbops.database.migrate.opened import read_tables
from bbops.database.schema import shape
from bbops.database.schema.checks import texts_of, write_checks
from bbops.database.schema.ddl import Ddl
from bbops.database.schema.place import Place
from bbops.database.schema.shape import Difference
from bbops.language.resources.table import RULES, Table

_SAID: Final = {
    "add table": "a table is gone", "drop table": "a table was added",
    "add column": "a column is gone", "drop column": "a column was added",
    "type": "a column has another type", "null": "null is allowed or forbidden in a column",
    "default": "a column has another default", "counts": "a key counts in another way",
    "rules": "the rules of a column differ", "reference": "a reference differs",
    "key": "the primary key differs", "table rules": "a check of a table is gone or differs",
    "add index": "an index is gone", "drop index": "an index was added",
}  # fmt: skip
_COPIED: Final = ("nullable", "default", "references", "onDelete", "type", "auto", "unique")


@dataclass(frozen=True, slots=True)
class Drift:
    """A difference, and the whole table as it is now, in the words of its file."""

    what: str
    name: str

    def __str__(self) -> str:
        return f"{self.what}: '{self.name}'"


@dataclass(frozen=True, slots=True)
class Drifted:
    """The changes by hand; empty without any.

    Attributes:
        found: the differences.
        tables: the changed tables in the form of their files; None for a missing table.
        remarks: notes on everything that files cannot describe.
    """

    found: tuple[Drift, ...]
    tables: Mapping[str, Declared | None]
    remarks: tuple[str, ...] = ()


def find_drift(place: Place) -> Drifted:
    """Return the differences from the tables that were applied last. Reads no row.

    Raises:
        DatabaseError: the database cannot be read, or no project's tables were made in it.
    """
    with read_tables(place) as live:
        return _find(live, migrate.read_spec(live, place))


def _find(live: LiveTables, spec: str) -> Drifted:
    applied, rest = migrate.tables_of(spec), live.rest()
    want = live.ddl.describe(applied)
    have = with_kinds(live.read(), migrate.types_of(spec))
    left_out = set() if migrate.describe(applied) == spec else {"table rules"}
    differences = [
        difference
        for difference in shape.differ(have, want)
        if difference.kind in _SAID.keys() - left_out
    ]
    with_checks = sorted(rest.checks & applied.keys())
    changed = {difference.table for difference in differences} | {*with_checks}
    if not changed:
        return Drifted((), {})
    adopted = adopt(have, rest, only=changed)
    tables = {
        name: _merged(name, applied.get(name), adopted.tables.get(name), have.get(name), live.ddl)
        for name in sorted(changed)
    }
    odd = (Drift("a check was added", table) for table in with_checks)
    found = tuple(dict.fromkeys([*map(_told, differences), *odd]))
    remarks = tuple(
        remark for remark in adopted.remarks if any(f"'{name}" in remark for name in changed)
    )
    return Drifted(found, tables, remarks)


def _told(one: Difference) -> Drift:
    return Drift(_SAID[one.kind], f"{one.table}.{one.what}" if one.what else one.table)


def _merged(
    name: str,
    applied: Table | None,
    live: Declared | None,
    have: shape.Table | None,
    ddl: Ddl,
) -> Declared | None:
    """Return the current table: the applied one without removed parts, with new parts."""
    if applied is None or live is None or have is None:
        return live
    declared: dict[str, Any] = applied.model_dump(
        mode="json",
        by_alias=True,
        exclude_defaults=True,
        exclude={"checks", *RULES, "renamed_from"},
    )
    columns = {
        key: _column(declared["columns"].get(key), column)
        for key, column in live["columns"].items()
    }
    checks = _kept_checks(applied, have, write_checks(name, applied, ddl.dialect))
    found = {**declared, **live, "columns": columns} | ({"checks": checks} if checks else {})
    found["indexes"] = live.get("indexes", {}) | {
        key: index for key, index in declared.get("indexes", {}).items()
        if "where" in index and key in have.indexes
    }  # fmt: skip
    if not found["indexes"]:
        del found["indexes"]
    return found


def _kept_checks(
    applied: Table, have: shape.Table, written: Iterable[shape.Rule]
) -> dict[str, str]:
    """Return the applied checks that still exist, in the form of their file."""
    rules = zip(texts_of(applied).items(), written, strict=True)
    return {name: text for (name, text), rule in rules if rule in have.rules}


def _column(declared: Declared | None, live: Declared) -> Declared:
    if declared is None:
        return live
    kept = {key: value for key, value in declared.items() if key not in _COPIED}
    if declared.get("auto"):
        live = {**live, "auto": declared["auto"]}
        live.pop("default", None)
    return {"type": live["type"], **kept, **live}


def lines(drifted: Drifted) -> Iterator[str]:
    """Yield the lines for a user."""
    yield from map(str, drifted.found)
    yield from drifted.remarks
