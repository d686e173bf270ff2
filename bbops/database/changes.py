"""Tell which differences between live and declared tables may be made unasked, with the reason.

Needs no SQLAlchemy: it reads Alembic's difference tuples, the declared tables and the live rows.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from bbops.resources.table import Table

_REBUILD: Final = "an existing table would have to be rebuilt"
_SAME_STORAGE: Final = {"string", "text"}, {"integer", "bigint"}
_ANY_TEXT: Final = {"uuid", "date", "time", "datetime", "decimal"}


@dataclass(frozen=True, slots=True)
class Change:
    """One difference; `what` is a column or an index of the table, or empty for the table.

    As text it reads `add column 'notes.done' (why)`.
    """

    kind: str
    table: str
    what: str
    risk: Literal["safe", "refused"]
    why: str

    def __str__(self) -> str:
        name = f"{self.table}.{self.what}" if self.what else self.table
        sentence = f"{self.kind} '{name}'"
        return f"{sentence} ({self.why})" if self.why else sentence


def classify(
    live: sqlite3.Connection,
    tables: Mapping[str, Table],
    differences: Iterable[tuple[Any, ...]],
    types: Mapping[str, Mapping[str, str]],
) -> tuple[Change, ...]:
    """Return every change that leads from the live tables to `tables`, in the order to make them.

    Args:
        live: counts of rows are read from it.
        tables: as declared.
        differences: as `bbops.database.schema.differences` returns them.
        types: table → column → declared type when the live tables were made, where known: a
            datetime and a uuid are both stored as text.
    """
    reader = _Reader(live, tables, tuple(differences))
    found = [*reader.read_differences(), *reader.read_keys(), *reader.read_types(types)]
    order = {"create table": 0, "add column": 1, "create index": 2}
    # a column may differ in two rules, or in storage and in declared type: the better reason wins
    found.sort(key=lambda change: change.why != _REBUILD)
    unique = {(change.kind, change.table, change.what): change for change in found}
    return tuple(
        sorted(unique.values(), key=lambda c: (order.get(c.kind, 3), c.table, c.what, c.kind))
    )


class _Reader:
    def __init__(
        self,
        live: sqlite3.Connection,
        tables: Mapping[str, Table],
        differences: tuple[tuple[Any, ...], ...],
    ) -> None:
        self._live = live
        self._tables = tables
        self._differences = differences
        self._gone = {str(d[1].name) for d in differences if d[0] == "remove_table"}
        self._new = {str(d[1].name) for d in differences if d[0] == "add_table"}
        self._added = {(d[2], str(d[3].name)) for d in differences if d[0] == "add_column"}
        self._removed = {(d[2], str(d[3].name)) for d in differences if d[0] == "remove_column"}

    def read_differences(self) -> Iterator[Change]:
        readers: dict[str, Callable[[tuple[Any, ...]], Change | None]] = {
            "add_table": lambda d: Change("create table", str(d[1].name), "", "safe", ""),
            "remove_table": self._read_removed_table,
            "add_column": self._read_added_column,
            "remove_column": self._read_removed_column,
            "add_index": self._read_added_index,
            "remove_index": self._read_removed_index,
            "add_constraint": self._read_rule,
            "remove_constraint": self._read_rule,
            "modify_type": self._read_storage,
            "modify_nullable": self._read_nullability,
            "modify_default": self._read_default,
        }
        for difference in self._differences:
            change = readers.get(difference[0], self._read_unknown)(difference)
            if change is not None:
                yield change

    def read_keys(self) -> Iterator[Change]:
        """Primary keys and references: what Alembic does not compare, or not rightly."""
        for name in self._tables.keys() - self._new:
            yield from self._read_primary_key(name, self._tables[name])
            yield from self._read_references(name, self._tables[name])

    def read_types(self, types: Mapping[str, Mapping[str, str]]) -> Iterator[Change]:
        for name, table in self._tables.items():
            for key, column in table.columns.items():
                old = types.get(name, {}).get(key, column.type)
                if not _reads_as(old, column.type) and self._count(name):
                    why = f"{self._count(name)} rows hold it as {old}, expected {column.type}"
                    yield _refused("change the type of column", name, key, why)

    def _read_unknown(self, difference: tuple[Any, ...]) -> Change:
        return _refused(str(difference[0]).replace("_", " "), str(difference[1]), "", _REBUILD)

    def _read_removed_table(self, difference: tuple[Any, ...]) -> Change:
        name = str(difference[1].name)
        return _refused("drop table", name, "", f"{self._count(name)} rows would be lost")

    def _read_added_column(self, difference: tuple[Any, ...]) -> Change:
        _, _, table, added = difference
        column, rows = self._tables[table].columns[str(added.name)], self._count(table)
        filled = column.nullable or column.default is not None or not rows
        if filled:
            return Change("add column", table, str(added.name), "safe", "")
        if column.auto in {"created", "updated"}:
            why = f"{rows} rows get the time of the migration"
            return Change("add column", table, str(added.name), "safe", why)
        why = f"{rows} rows would have no value for it: make it nullable or give it a default"
        return _refused("add column", table, str(added.name), why)

    def _read_removed_column(self, difference: tuple[Any, ...]) -> Change:
        _, _, table, removed = difference
        rows = self._count(table, f'"{removed.name}" IS NOT NULL')
        why = f"{rows} rows would lose their value"
        return _refused("drop column", table, str(removed.name), why)

    def _read_added_index(self, difference: tuple[Any, ...]) -> Change | None:
        index = difference[1]
        table, name = str(index.table.name), str(index.name)
        if table in self._new:
            return None
        columns = [str(column.name) for column in index.columns]
        rule_of = columns[0] if name == f"uq_{table}_{columns[0]}" else ""
        if rule_of and (table, rule_of) not in self._added:
            why = _with_count(self._count_repeated(table, columns), "values occur more than once")
            return _refused("require unique values in column", table, rule_of, why)
        repeated = self._count_repeated(table, columns) if index.unique else 0
        if repeated:
            return _refused("create index", table, name, f"{repeated} values occur more than once")
        return Change("create index", table, name, "safe", "")

    def _read_removed_index(self, difference: tuple[Any, ...]) -> Change | None:
        index = difference[1]
        table, name = str(index.table.name), str(index.name)
        if table in self._gone:
            return None
        if not index.unique and name.startswith(f"ix_{table}_"):
            return None  # made for a reference that another index serves now; it does no harm
        if name.startswith(f"uq_{table}_"):
            column = name.removeprefix(f"uq_{table}_")
            kind = "allow repeated values in column"
            return None if self._is_moved(table, column) else _refused(kind, table, column, "")
        return _refused("drop index", table, name, "")

    def _read_rule(self, difference: tuple[Any, ...]) -> Change | None:
        rule = difference[1]
        table, name = str(rule.table.name), str(rule.name)
        column = name.removeprefix(f"ck_{table}_")[:-9] if name.startswith("ck_") else ""
        if table in self._new | self._gone or self._is_moved(table, column):
            return None
        is_new = difference[0] == "add_constraint"
        sql = rule.sqltext.text.replace("\\:", ":") if is_new else "1"
        broken = self._count(table, f"NOT ({sql})")
        why = _with_count(broken, "rows break the new rule")
        return _refused("change the rules of column", table, column, why)

    def _read_storage(self, difference: tuple[Any, ...]) -> Change:
        _, _, table, column, _, old, new = difference
        why = f"{self._count(table)} rows hold {old}, expected {new}"
        return _refused("change the type of column", table, column, why)

    def _read_nullability(self, difference: tuple[Any, ...]) -> Change:
        _, _, table, column, _, _, nullable = difference
        if nullable:
            return _refused("allow null in column", table, column, _REBUILD)
        nulls = self._count(table, f'"{column}" IS NULL')
        return _refused(
            "forbid null in column", table, column, _with_count(nulls, "rows hold null")
        )

    def _read_default(self, difference: tuple[Any, ...]) -> Change:
        _, _, table, column, *_ = difference
        return _refused("change the default of column", table, column, _REBUILD)

    def _read_primary_key(self, name: str, table: Table) -> Iterator[Change]:
        query = "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk"
        key = tuple(row[0] for row in self._live.execute(query, (name,)))
        made = self._live.execute(
            "SELECT sql FROM sqlite_master WHERE name = ?", (name,)
        ).fetchone()
        increments = any(column.auto == "increment" for column in table.columns.values())
        if key != table.key or increments != bool(re.search("KEY AUTOINCREMENT", made[0])):
            yield _refused("change the primary key of table", name, "", _REBUILD)

    def _read_references(self, name: str, table: Table) -> Iterator[Change]:
        query = 'SELECT "from", "table" || \'.\' || "to", on_delete FROM pragma_foreign_key_list(?)'
        live = {row[0]: row[1:] for row in self._live.execute(query, (name,))}
        actions = {"restrict": "RESTRICT", "cascade": "CASCADE", "setNull": "SET NULL"}
        for key in live.keys() | table.columns.keys():
            column = table.columns.get(key)
            wanted = column.references if column else None
            rule = (wanted, actions[column.on_delete]) if column and wanted else None
            if self._is_moved(name, key) or live.get(key) == rule:
                continue
            why = _with_count(self._count_dangling(name, key, wanted), "rows refer to nothing")
            yield _refused("change the reference of column", name, key, why)

    def _is_moved(self, table: str, column: str) -> bool:
        """Whether the column comes or goes whole, so that its rules need no word of their own."""
        return (table, column) in self._added | self._removed

    def _count(self, table: str, condition: str = "1") -> int:
        if table in self._new:
            return 0
        query = f'SELECT count(*) FROM "{table}" WHERE {condition}'
        return int(self._live.execute(query).fetchone()[0])

    def _count_dangling(self, table: str, column: str, reference: str | None) -> int:
        if not reference:
            return 0
        parent, key = reference.split(".")
        if parent in self._new or (parent, key) in self._added:
            return self._count(table, f'"{column}" IS NOT NULL')
        present = f'SELECT 1 FROM "{parent}" AS p WHERE p."{key}" = "{table}"."{column}"'
        return self._count(table, f'"{column}" IS NOT NULL AND NOT EXISTS ({present})')

    def _count_repeated(self, table: str, columns: list[str]) -> int:
        """Count values that occur twice; a column that joins now has one value in all rows."""
        joining = [column for column in columns if (table, column) in self._added]
        declared = self._tables[table].columns
        if any(declared[c].default is None and declared[c].nullable for c in joining):
            return 0  # null is unlike every other null
        held = [f'"{column}"' for column in columns if column not in joining]
        if not held:
            return int(self._count(table) > 1)
        present = " AND ".join(f"{column} IS NOT NULL" for column in held)
        groups = f'SELECT 1 FROM "{table}" WHERE {present} GROUP BY {", ".join(held)}'
        query = f"SELECT count(*) FROM ({groups} HAVING count(*) > 1)"
        return int(self._live.execute(query).fetchone()[0])


def _refused(kind: str, table: str, what: str, why: str) -> Change:
    return Change(kind, table, what, "refused", why)


def _with_count(count: int, what: str) -> str:
    return f"{count} {what}" if count else _REBUILD


def _reads_as(old: str, new: str) -> bool:
    """Whether what was stored as one type is a right value of the other."""
    if old == new or any({old, new} <= same for same in _SAME_STORAGE):
        return True
    return old in _ANY_TEXT and new in {"string", "text"}
