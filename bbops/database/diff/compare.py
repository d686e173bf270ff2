"""Judge every difference between the live tables and the declared ones by the rows it meets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from bbops.database.diff.changes import Change, sort_changes
from bbops.database.diff.preflight import Preflight, Rows
from bbops.database.diff.renames import Renames
from bbops.database.schema import shape
from bbops.database.schema.conversions import Conversions, reads_as
from bbops.database.schema.ddl import Ddl
from bbops.database.schema.shape import Difference
from bbops.language.resources.table import Table


@dataclass(frozen=True, slots=True)
class Comparison:
    """The two sides of a comparison.

    Attributes:
        tables: the declared tables.
        have: the live tables with `renames` made.
        want: the declared tables, in the words of the database.
        differences: the differences between them.
        renames: the renames that are still to be made.
        rows: the questions to the live rows.
        ddl: the DDL writer of the database.
    """

    tables: Mapping[str, Table]
    have: shape.Shape
    want: shape.Shape
    differences: tuple[Difference, ...]
    renames: Renames
    rows: Preflight
    ddl: Ddl
    conversions: Conversions

    def changes(self) -> tuple[Change, ...]:
        """Return the changes for a user, without mere renames of rules and indexes."""
        return sort_changes([*_renamed(self.renames), *_Judge(self).changes()])


def _renamed(renames: Renames) -> Iterator[Change]:
    for new, old in renames.tables.items():
        yield Change("rename table", new, "", why=f"it was '{old}'")
    for (table, new), old in renames.columns.items():
        yield Change("rename column", table, new, why=f"it was '{old}'")


class _Judge:
    def __init__(self, of: Comparison) -> None:
        self._of, self._rows = of, of.rows
        self._added = {(d.table, d.what) for d in of.differences if d.kind == "add column"}
        self._dropped = {(d.table, d.what) for d in of.differences if d.kind == "drop column"}

    def changes(self) -> Iterator[Change]:
        judges: dict[str, Callable[[str, str], Iterable[Change]]] = {
            "add table": lambda table, _: [Change("create table", table, "")],
            "drop table": self._drop_table,
            "add column": self._add_column,
            "drop column": self._drop_column,
            "type": self._type,
            "null": self._nullability,
            "default": self._default,
            "rules": self._rules,
            "table rules": self._table_rules,
            "reference": self._reference,
            "key": self._key,
            "counts": self._counts,
            "add index": self._add_index,
            "drop index": self._drop_index,
        }
        for difference in self._of.differences:
            if difference.kind in judges:
                yield from judges[difference.kind](difference.table, difference.what)

    def _drop_table(self, name: str, _: str) -> Iterator[Change]:
        rows = Rows(self._rows.count_live(name))
        new = {
            other: table.renamed_from for other, table in self._of.tables.items()
            if other not in self._of.have and table.renamed_from not in self._of.have
        }  # fmt: skip
        yield _losing(Change("drop table", name, ""), rows, "rows would be lost", _chain(name, new))

    def _add_column(self, table: str, name: str) -> Iterator[Change]:
        column, rows = self._of.tables[table].columns[name], self._rows.find(table)
        change = Change("add column", table, name)
        if column.nullable or column.default is not None or not rows:
            yield change
        elif column.auto in {"created", "updated"}:
            yield Change(*change.key, why="rows get the time of the migration", rows=_bare(rows))
        else:
            cure = f"make '{table}.{name}' nullable or give it a default"
            yield _blocked(change, _bare(rows), "rows would have no value for it", cure)
        wanted = self._of.want[table].columns[name]
        yield from self._broken(change, wanted.rules)
        if wanted.reference and (rows := self._dangling(table, name, wanted.reference)):
            yield self._refers_to_nothing(change, rows)

    def _drop_column(self, table: str, name: str) -> Iterator[Change]:
        rows = self._rows.find_live(table, f'"{name}" IS NOT NULL')
        held = self._of.have[table].columns
        new = {
            other: column.renamed_from for other, column in self._of.tables[table].columns.items()
            if other not in held and column.renamed_from not in held
        }  # fmt: skip
        change, why = Change("drop column", table, name), "rows would lose their value"
        yield _losing(change, rows, why, _chain(name, new))

    def _type(self, table: str, name: str) -> Iterator[Change]:
        carried = self._rows.carried[table].columns[name]
        old, new = carried.old_type, carried.new_type
        if reads_as(old, new) and self._is_stored_as_recorded(table, name, old):
            return
        value, conversions = f'"{carried.origin}"', self._of.conversions
        change = Change("change the type of column", table, name, why=f"{old} becomes {new}")
        changed = self._rows.find_live(table, conversions.loss(value, old, new))
        # a value that does not fit the new type is not kept, either: mostly, one look is enough
        misfit = conversions.misfit(value, old, new)
        if changed and (bad := self._rows.find_live(table, misfit)):
            cure = f"change '{table}.{name}' in these rows first, or add a column beside it"
            yield _blocked(change, bad, f"rows hold {old} that is no {new}", cure)
        else:
            yield _losing(change, changed, f"rows hold {old} that {new} does not keep whole")
            yield from self._collisions(change)

    def _nullability(self, table: str, name: str) -> Iterator[Change]:
        if self._of.want[table].columns[name].nullable:
            yield Change("allow null in column", table, name)
            return
        change = Change("forbid null in column", table, name)
        carried = self._rows.carried[table].columns[name]
        nulls = self._rows.find_live(table, f'"{carried.origin}" IS NULL')
        if carried.filler is not None:
            yield _losing(change, nulls, f"rows hold null and would get {carried.shown}")
            yield from self._collisions(change)
        else:
            cure = f"fill '{table}.{name}' in these rows first, or give it a default"
            yield _blocked(change, nulls, "rows hold null", cure)

    def _default(self, table: str, name: str) -> Iterator[Change]:
        yield Change("change the default of column", table, name)

    def _rules(self, table: str, name: str) -> Iterator[Change]:
        have, want = self._of.have[table].columns[name], self._of.want[table].columns[name]
        change = Change("change the rules of column", table, name)
        yield change
        yield from self._broken(change, shape.tighter_rules(have.rules, want.rules))

    def _table_rules(self, table: str, _: str) -> Iterator[Change]:
        change = Change("change the checks of table", table, "")
        yield change
        yield from self._broken(change, self._of.want[table].rules - self._of.have[table].rules)

    def _broken(self, change: Change, added: frozenset[shape.Rule]) -> Iterator[Change]:
        condition = " AND ".join(sorted(f"({rule.sql})" for rule in added))
        rows = self._rows.find(change.table, f"NOT ({condition})") if added else Rows()
        if rows:
            cure = f"change these rows of '{change.table}' first, or the rule"
            yield _blocked(change, rows, "rows violate the new rule", cure)

    def _reference(self, table: str, name: str) -> Iterator[Change]:
        wanted = self._of.want[table].columns[name].reference
        change = Change("change the reference of column", table, name)
        rows = self._dangling(table, name, wanted) if wanted else Rows()
        yield self._refers_to_nothing(change, rows) if rows else change

    def _dangling(self, table: str, name: str, wanted: shape.Reference) -> Rows:
        if wanted.table not in self._rows.carried:
            return Rows()
        return self._rows.find_dangling(table, name, wanted)

    def _refers_to_nothing(self, change: Change, rows: Rows) -> Change:
        name = f"{change.table}.{change.what}"
        cure = f"add the rows that '{name}' refers to first, or empty it where it may be"
        return _blocked(change, rows, "rows refer to nothing", cure)

    def _key(self, name: str, _: str) -> Iterator[Change]:
        change = Change("change the primary key of table", name, "")
        yield from self._unless_repeated(change, self._of.want[name].key)

    def _counts(self, table: str, _: str) -> Iterator[Change]:
        yield Change("change the primary key of table", table, "")

    def _add_index(self, table: str, name: str) -> Iterator[Change]:
        index = self._of.want[table].indexes[name]
        first = index.columns[0]
        change = Change("create index", table, name)
        if name == self._of.ddl.fit(f"uq_{table}_{first}") and (table, first) not in self._added:
            change = Change("require unique values in column", table, first)
        columns = index.columns if index.unique else ()
        yield from self._unless_repeated(change, columns, index.where, index.keys)

    def _drop_index(self, table: str, name: str) -> Iterator[Change]:
        index = self._of.have[table].indexes[name]
        column = index.columns[0]
        wanted = self._of.want[table].indexes.get(name)
        if wanted is not None and replace(wanted, keys=index.keys) == index:
            return  # created again, with other keys
        end = f"_{column}"[-9:]  # the end of a long name that `Ddl.fit` keeps
        if not name.startswith(("uq_", "ix_")) or not name.endswith(end):
            yield Change("drop index", table, name)
        elif index.unique and (table, column) not in self._added | self._dropped:
            yield Change("allow repeated values in column", table, column)
        # one of ours that is not unique served a reference, which another index serves now

    def _collisions(self, change: Change) -> Iterator[Change]:
        """Find values of a unique column that become equal."""
        for columns, where, keys in _unique_sets(self._of.want[change.table]):
            if change.what in columns:
                yield from self._unless_repeated(change, columns, where, keys)

    def _unless_repeated(
        self, change: Change, columns: tuple[str, ...], where: str = "", keys: tuple[str, ...] = ()
    ) -> Iterator[Change]:
        found = self._rows.find_repeated
        rows = found(change.table, columns, where, keys) if columns else Rows()
        why = "rows share their value with another"
        cure = f"give the rows of '{change.table}' values of their own first"
        yield _blocked(change, rows, why, cure)

    def _is_stored_as_recorded(self, table: str, name: str, kind: str) -> bool:
        have = self._of.have[table].columns[name]
        return not have.kind or have.type == self._of.ddl.storage(kind)


def _bare(rows: Rows) -> Rows:
    return Rows(rows.count)


def _losing(change: Change, rows: Rows, why: str, cure: str = "") -> Change:
    return Change(*change.key, "destructive", why, rows, cure) if rows else change


def _chain(old: str, new: Mapping[str, str | None]) -> str:
    """Return the fix for new names that were renamed from a name that was never live.

    Two renames that are published together leave only the second in the file.
    """
    return "; ".join(
        f"'renamedFrom: {between}' of '{name}' was never live: write 'renamedFrom: {old}' there if"
        f" it was renamed from '{old}' before"
        for name, between in new.items() if between
    )  # fmt: skip


def _blocked(change: Change, rows: Rows, why: str, cure: str) -> Change:
    return Change(*change.key, "impossible", why, rows, cure) if rows else change


def _unique_sets(
    table: shape.Table,
) -> Iterator[tuple[tuple[str, ...], str, tuple[str, ...]]]:
    for index in table.indexes.values():
        if index.unique:
            yield index.columns, index.where, index.keys
    if table.key:
        yield table.key, "", ()
