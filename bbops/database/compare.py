"""Find every change that leads from the live tables to the declared ones, and judge it.

Needs no SQLAlchemy: it reads Alembic's difference tuples, the live schema and the live rows.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bbops.database.changes import Change, sort_changes
from bbops.database.conversions import loss, misfit, reads_as, storage_of
from bbops.database.preflight import Preflight, Rows
from bbops.database.renames import Renames
from bbops.resources.table import Table

_NAME: Final = re.compile('"([^"]+)"')
_ACTIONS: Final = {"restrict": "RESTRICT", "cascade": "CASCADE", "setNull": "SET NULL"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The changes, and the declared tables that SQLite can only bring there by a rebuild."""

    changes: tuple[Change, ...]
    rebuilt: frozenset[str]


def compare(
    schema: sqlite3.Connection,
    tables: Mapping[str, Table],
    differences: Iterable[tuple[Any, ...]],
    rows: Preflight,
    renames: Renames,
) -> Comparison:
    """Return what leads from the live tables to `tables`.

    Args:
        schema: the live tables with `renames` made; no row of it is read.
        tables: as declared.
        differences: those of `schema`, as `bbops.database.schema.differences` returns them.
        rows: asks the live rows.
        renames: those that are still to be made.
    """
    reader = _Reader(schema, tables, tuple(differences), rows)
    found = [*_renamed(renames), *reader.read_differences(), *reader.read_schema()]
    return Comparison(sort_changes(found), frozenset(reader.rebuilt))


def _renamed(renames: Renames) -> Iterator[Change]:
    for new, old in renames.tables.items():
        yield Change("rename table", new, "", why=f"it was '{old}'")
    for (table, new), old in renames.columns.items():
        yield Change("rename column", table, new, why=f"it was '{old}'")


class _Reader:
    def __init__(
        self,
        schema: sqlite3.Connection,
        tables: Mapping[str, Table],
        differences: tuple[tuple[Any, ...], ...],
        rows: Preflight,
    ) -> None:
        self.rebuilt: set[str] = set()
        self._schema = schema
        self._tables = tables
        self._differences = differences
        self._rows = rows
        self._gone = {str(d[1].name) for d in differences if d[0] == "remove_table"}
        self._new = {str(d[1].name) for d in differences if d[0] == "add_table"}
        self._added = {(str(d[2]), str(d[3].name)) for d in differences if d[0] == "add_column"}
        self._removed = {
            (str(d[2]), str(d[3].name)) for d in differences if d[0] == "remove_column"
        }
        self._renamed = _shapes(differences, "add_index") & _shapes(differences, "remove_index")

    def read_differences(self) -> Iterator[Change]:
        readers: dict[str, Callable[[tuple[Any, ...]], Iterator[Change]]] = {
            "add_table": lambda d: iter([Change("create table", str(d[1].name), "")]),
            "remove_table": self._read_removed_table,
            "add_column": self._read_added_column,
            "remove_column": self._read_removed_column,
            "add_index": self._read_added_index,
            "remove_index": self._read_removed_index,
            "modify_nullable": self._read_nullability,
            "modify_default": self._read_default,
        }
        for difference in self._differences:
            if difference[0] in readers:
                yield from readers[difference[0]](difference)
        yield from self._read_rules()

    def read_schema(self) -> Iterator[Change]:
        """Types, primary keys and references: what Alembic does not compare, or not rightly."""
        for name in sorted(self._tables.keys() - self._new):
            yield from self._read_types(name)
            yield from self._read_primary_key(name, self._tables[name])
            yield from self._read_references(name, self._tables[name])

    def _read_removed_table(self, difference: tuple[Any, ...]) -> Iterator[Change]:
        name = str(difference[1].name)
        rows = Rows(self._rows.count_live(name))
        yield _losing(Change("drop table", name, ""), rows, "rows would be lost")

    def _read_added_column(self, difference: tuple[Any, ...]) -> Iterator[Change]:
        table, name = str(difference[2]), str(difference[3].name)
        column, rows = self._tables[table].columns[name], self._rows.find(table)
        change = Change("add column", table, name)
        if column.nullable or column.default is not None or not rows:
            yield change
        elif column.auto in {"created", "updated"}:
            yield Change(*_key(change), why="rows get the time of the migration", rows=_bare(rows))
        else:
            cure = f"make '{table}.{name}' nullable or give it a default"
            yield _blocked(change, _bare(rows), "rows would have no value for it", cure)

    def _read_removed_column(self, difference: tuple[Any, ...]) -> Iterator[Change]:
        table, name = str(difference[2]), str(difference[3].name)
        self.rebuilt.add(table)
        rows = self._rows.find_live(table, f'"{name}" IS NOT NULL')
        yield _losing(Change("drop column", table, name), rows, "rows would lose their value")

    def _read_added_index(self, difference: tuple[Any, ...]) -> Iterator[Change]:
        index = difference[1]
        table, name = str(index.table.name), str(index.name)
        if table in self._new or _shape(index) in self._renamed:
            return
        columns = [str(column.name) for column in index.columns]
        change = Change("create index", table, name)
        if name == f"uq_{table}_{columns[0]}" and (table, columns[0]) not in self._added:
            change = Change("require unique values in column", table, columns[0])
        yield from self._unless_repeated(change, columns if index.unique else [])

    def _unless_repeated(self, change: Change, columns: list[str]) -> Iterator[Change]:
        rows = self._rows.find_repeated(change.table, columns) if columns else Rows()
        why = "rows share their value with another"
        cure = f"give the rows of '{change.table}' values of their own first"
        yield _blocked(change, rows, why, cure)

    def _read_removed_index(self, difference: tuple[Any, ...]) -> Iterator[Change]:
        index = difference[1]
        table, name = str(index.table.name), str(index.name)
        if table in self._gone or _shape(index) in self._renamed:
            return
        if not index.unique and name.startswith(f"ix_{table}_"):
            return  # made for a reference that another index serves now; it does no harm
        column = name.removeprefix(f"uq_{table}_")
        if column == name:
            yield Change("drop index", table, name)
        elif not self._is_moved(table, column):
            yield Change("allow repeated values in column", table, column)

    def _read_nullability(self, difference: tuple[Any, ...]) -> Iterator[Change]:
        table, column, nullable = str(difference[2]), str(difference[3]), difference[6]
        self.rebuilt.add(table)
        if nullable:
            yield Change("allow null in column", table, column)
            return
        change = Change("forbid null in column", table, column)
        carried = self._rows.carried[table].columns[column]
        nulls = self._rows.find_live(table, f'"{carried.origin}" IS NULL')
        if carried.filler is not None:
            yield _losing(change, nulls, f"rows hold null and would get {carried.filler}")
            yield from self._read_collisions(change)
        else:
            cure = f"fill '{table}.{column}' in these rows first, or give it a default"
            yield _blocked(change, nulls, "rows hold null", cure)

    def _read_default(self, difference: tuple[Any, ...]) -> Iterator[Change]:
        table, column = str(difference[2]), str(difference[3])
        self.rebuilt.add(table)
        yield Change("change the default of column", table, column)

    def _read_rules(self) -> Iterator[Change]:
        """Read checks; one whose name alone differs, after a rename, is written anew in silence."""
        texts: dict[str, Counter[str]] = {}
        for difference in self._differences:
            if difference[0] not in {"add_constraint", "remove_constraint"}:
                continue
            rule, change = difference[1], 1 if difference[0] == "add_constraint" else -1
            text = str(rule.sqltext.text).replace("\\:", ":")
            texts.setdefault(str(rule.table.name), Counter())[text] += change
        for table in sorted(texts.keys() - self._new - self._gone):
            for column in sorted(set(map(_column_of, texts[table]))):
                counts = {t: n for t, n in texts[table].items() if _column_of(t) == column}
                yield from self._read_rule(table, column, counts)

    def _read_rule(self, table: str, column: str, counts: Mapping[str, int]) -> Iterator[Change]:
        is_moved = self._is_moved(table, column)
        if not is_moved:
            self.rebuilt.add(table)
        added = " AND ".join(f"({text})" for text, count in counts.items() if count > 0)
        broken = self._rows.find(table, f"NOT ({added})") if added else Rows()
        kind = "add column" if is_moved else "change the rules of column"
        cure = f"change these rows of '{table}' first, or the rule"
        if broken or (any(counts.values()) and not is_moved):
            yield _blocked(Change(kind, table, column), broken, "rows break the new rule", cure)

    def _read_types(self, table: str) -> Iterator[Change]:
        live = dict(self._schema.execute("SELECT name, type FROM pragma_table_info(?)", (table,)))
        for name, carried in self._rows.carried[table].columns.items():
            old, new = carried.old_type, carried.new_type
            if not carried.origin or (reads_as(old, new) and storage_of(new) == live[name].upper()):
                continue
            self.rebuilt.add(table)
            value = f'"{carried.origin}"'
            why = f"rows hold {old} that is no {new}"
            change = Change("change the type of column", table, name, why=f"{old} becomes {new}")
            bad = self._rows.find_live(table, misfit(value, old, new))
            if bad:
                cure = f"change '{table}.{name}' in these rows first, or add a column beside it"
                yield _blocked(change, bad, why, cure)
            else:
                changed = self._rows.find_live(table, loss(value, old, new))
                yield _losing(change, changed, f"rows hold {old} that {new} does not keep whole")
                yield from self._read_collisions(change)

    def _read_collisions(self, change: Change) -> Iterator[Change]:
        """Read where values of a column become equal that must not."""
        for columns in _unique_sets(self._tables[change.table]):
            if change.what in columns:
                yield from self._unless_repeated(change, columns)

    def _read_primary_key(self, name: str, table: Table) -> Iterator[Change]:
        query = "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk"
        key = tuple(row[0] for row in self._schema.execute(query, (name,)))
        made = self._schema.execute(
            "SELECT sql FROM sqlite_master WHERE name = ?", (name,)
        ).fetchone()
        increments = any(column.auto == "increment" for column in table.columns.values())
        if key == table.key and increments == bool(re.search("KEY AUTOINCREMENT", made[0])):
            return
        self.rebuilt.add(name)
        change = Change("change the primary key of table", name, "")
        yield from self._unless_repeated(change, [] if key == table.key else list(table.key))

    def _read_references(self, name: str, table: Table) -> Iterator[Change]:
        query = 'SELECT "from", "table" || \'.\' || "to", on_delete FROM pragma_foreign_key_list(?)'
        live = {row[0]: row[1:] for row in self._schema.execute(query, (name,))}
        for key in sorted(live.keys() | table.columns.keys()):
            column = table.columns.get(key)
            wanted = column.references if column else None
            rule = (wanted, _ACTIONS[column.on_delete]) if column and wanted else None
            is_moved = self._is_moved(name, key)
            if live.get(key) == rule or (is_moved and rule is None):
                continue
            if not is_moved:
                self.rebuilt.add(name)
            rows = self._rows.find_dangling(name, key, wanted) if wanted else Rows()
            if is_moved and not rows:
                continue
            kind = "add column" if is_moved else "change the reference of column"
            cure = f"add the rows that '{name}.{key}' refers to first, or empty it where it may be"
            yield _blocked(Change(kind, name, key), rows, "rows refer to nothing", cure)

    def _is_moved(self, table: str, column: str) -> bool:
        """Whether the column comes or goes whole, so that its rules need no word of their own."""
        return (table, column) in self._added | self._removed


def _key(change: Change) -> tuple[str, str, str]:
    return change.kind, change.table, change.what


def _bare(rows: Rows) -> Rows:
    return Rows(rows.count)


def _losing(change: Change, rows: Rows, why: str) -> Change:
    return Change(*_key(change), "destructive", why, rows) if rows else change


def _blocked(change: Change, rows: Rows, why: str, cure: str) -> Change:
    return Change(*_key(change), "impossible", why, rows, cure) if rows else change


def _shape(index: Any) -> tuple[str, ...]:
    """Return what an index that we named is, but for its name, which holds its table's."""
    name = str(index.name)
    own = name[:3] if name.startswith(("uq_", "ix_")) else name
    return own, str(index.table.name), *(str(column.name) for column in index.columns)


def _shapes(differences: Iterable[tuple[Any, ...]], kind: str) -> set[tuple[str, ...]]:
    return {_shape(d[1]) for d in differences if d[0] == kind}


def _column_of(rule: str) -> str:
    """Return the column that a check of ours is about: it is the first name in it."""
    found = _NAME.search(rule)
    return found[1] if found else ""


def _unique_sets(table: Table) -> Iterator[list[str]]:
    yield from ([name] for name, column in table.columns.items() if column.unique)
    yield from (list(index.columns) for index in table.indexes.values() if index.unique)
    yield list(table.key)
