"""Plan the phases of a database, so that every serving release keeps working.

A publication takes the tables to `expanded` while the old release serves, to `switched` while no
request is answered, and to `narrowed` after the old release has answered its last request. Each is
a set of declared tables like any other, made from the live and the wanted tables alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from bbops.base.model import Model
from bbops.database.diff.changes import Change
from bbops.database.diff.renames import Renames, find_renames
from bbops.database.schema.checks import texts_of
from bbops.database.schema.conversions import stamp
from bbops.language.expressions.syntax import parse
from bbops.language.expressions.values import Bare, Expression
from bbops.language.resources.table import Column, Index, Table

Tables = Mapping[str, Table]
Name = tuple[str, str]
"""A table and a column of it; an empty column stands for the whole table."""

M = TypeVar("M", bound=Model)
Serving = Literal["before", "after"]
"""The release that counts if two cannot share something: the old one, or the new one."""

_WORD: Final = re.compile(r"'(?:[^']|'')*'|(?<![\w.])[a-z]\w*")
_TYPES: Final = frozenset({"string", "text"}), frozenset({"integer", "bigint"})
_LOWER: Final = ("min_length", "minimum")
_UPPER: Final = ("max_length", "maximum")


@dataclass(frozen=True, slots=True)
class Phases:
    """The tables before the swap and at it; equal if both releases can share everything."""

    expanded: Tables
    switched: Tables

    @property
    def switches(self) -> bool:
        """Whether something changes that the releases cannot share, such as a name or a type."""
        return self.expanded != self.switched


def find_phases(live: Tables, wanted: Tables, now: str) -> Phases:
    """Return the tables between the recorded live ones and the wanted ones.

    Expanded has all tables and columns of both releases: the old ones keep their names and types,
    and refuse no row of the new release; the new ones have a value in every row, or none. The
    looser of two nullabilities, lengths, bounds and enums applies.

    Args:
        live: the live tables, without additions of a publication that never went live.
        wanted: the declared tables.
        now: the value of a new `created` or `updated` column, in stored form.
    """
    renames = find_renames(live, wanted)
    expanded = _Merge(live, _in_old_names(wanted, renames), "before", now).tables()
    switched = _Merge(_in_new_names(live, renames), wanted, "after", now).tables()
    if expanded != switched:  # seed rows have the names and types of the switch
        expanded = {name: _with(table, seed=[]) for name, table in expanded.items()}
    return Phases(expanded, switched)


def narrowed(live: Tables, wanted: Tables, hidden: frozenset[Name]) -> dict[str, Table]:
    """Return the wanted tables, with the hidden tables and columns beside them.

    Args:
        live: the live tables, with the hidden ones under their names.
        wanted: the declared tables.
        hidden: the undeclared names that stay; no wanted name is among them.
    """
    found = dict(wanted)
    taken = {index for table in wanted.values() for index in table.indexes}
    for table, column in sorted(hidden):
        if table not in live or (column and column not in live[table].columns):
            continue
        if not column:
            found.setdefault(table, _left_table(live[table], taken))
        elif table in wanted and column not in wanted[table].columns:
            left = _with(_left(live[table].columns[column]), unique=False)
            found[table] = _with(found[table], columns={**found[table].columns, column: left})
    return found


def renamed(live: Tables, wanted: Tables) -> dict[str, Table]:
    """Return the live tables under their names after the switch."""
    return _in_new_names(live, find_renames(live, wanted))


def renamed_names(names: Iterable[Name], live: Tables, wanted: Tables) -> frozenset[Name]:
    """Return names of live tables and columns as they are after the switch."""
    renames = find_renames(live, wanted)
    tables = {old: new for new, old in renames.tables.items()}
    columns = {(table, old): new for (table, new), old in renames.columns.items()}
    found = ((tables.get(table, table), column) for table, column in names)
    return frozenset((table, columns.get((table, column), column)) for table, column in found)


def dropped(live: Tables, wanted: Tables) -> frozenset[Name]:
    """Return the live names that are no longer declared, as they are after the switch."""
    live = renamed(live, wanted)
    tables = {(name, "") for name in live.keys() - wanted.keys()}
    columns = {
        (name, column)
        for name in live.keys() & wanted.keys()
        for column in live[name].columns.keys() - wanted[name].columns.keys()
    }
    return frozenset(tables | columns)


def without(tables: Tables, names: frozenset[Name]) -> dict[str, Table]:
    """Return the tables without some of them, and without some columns and their indexes."""
    found: dict[str, Table] = {}
    for name, table in tables.items():
        if (name, "") in names:
            continue
        columns = {key: it for key, it in table.columns.items() if (name, key) not in names}
        indexes = {key: it for key, it in table.indexes.items() if columns.keys() >= it.reads}
        found[name] = _with(table, columns=columns, indexes=indexes)
    return found


def unindexed(tables: Tables, live: Tables) -> dict[str, Table]:
    """Return tables without their indexes over columns that join live ones.

    Once the columns exist, an index can be created beside writers.
    """
    found: dict[str, Table] = {}
    for name, table in tables.items():
        new = table.columns.keys() - live[name].columns.keys() if name in live else set()
        columns = {
            key: _with(column, unique=False) if key in new else column
            for key, column in table.columns.items()
        }
        indexes = {key: it for key, it in table.indexes.items() if not new & it.reads}
        found[name] = _with(table, columns=columns, indexes=indexes)
    return {name: _tied(table, found) for name, table in found.items()}


def shares_type(one: Column, other: Column) -> bool:
    """Return whether all values of each column are valid in the other unchanged."""
    return one.type == other.type or any({one.type, other.type} <= same for same in _TYPES)


def find_names(tables: Tables) -> Iterator[Name]:
    """Yield the name of every table and of every column."""
    for name, table in tables.items():
        yield name, ""
        yield from ((name, column) for column in table.columns)


def trait_of(change: Change, tables: Tables) -> object:
    """Return the changed property of these tables; None if they do not have it."""
    table, what = tables.get(change.table), change.what
    if table is None:
        return None
    if not what:
        return texts_of(table) if "checks" in change.kind else _key(table)
    column = what.removeprefix(f"uq_{change.table}_").removeprefix(f"ix_{change.table}_")
    return table.indexes.get(what) or table.columns.get(what) or table.columns.get(column)


def _in_old_names(wanted: Tables, renames: Renames) -> dict[str, Table]:
    return _called(wanted, renames.tables, renames.columns)


def _in_new_names(live: Tables, renames: Renames) -> dict[str, Table]:
    tables = {old: new for new, old in renames.tables.items()}
    columns = {
        (renames.old_table(table), old): new for (table, new), old in renames.columns.items()
    }
    return _called(live, tables, columns)


def _called(
    tables: Tables, table_names: Mapping[str, str], column_names: Mapping[Name, str]
) -> dict[str, Table]:
    def name_of(table: str, column: str) -> str:
        return column_names.get((table, column), column)

    def reference_of(reference: str | None) -> str | None:
        table, _, column = (reference or "").partition(".")
        known = table_names.get(table, table)
        return reference and f"{known}.{name_of(table, column)}"

    found: dict[str, Table] = {}
    for name, table in tables.items():
        columns = {
            name_of(name, key): _with(
                column,
                references=reference_of(column.references),
                renamed_from=None if (name, key) in column_names else column.renamed_from,
            )
            for key, column in table.columns.items()
        }
        indexes = {
            key: _with(
                index,
                columns=[name_of(name, column) for column in index.columns],
                where=_renamed(index.where, {of: name_of(name, of) for of in table.columns}),
            )
            for key, index in table.indexes.items()
        }
        key = table.primary_key and [name_of(name, column) for column in table.primary_key]
        found[table_names.get(name, name)] = _with(
            table,
            columns=columns,
            indexes=indexes,
            primary_key=key,
            renamed_from=None if name in table_names else table.renamed_from,
        )
    return found


def _renamed(where: Bare | None, names: Mapping[str, str]) -> Bare | None:
    """Return a condition with other names of columns; a text in it stays unchanged."""
    if not isinstance(where, Expression) or all(old == new for old, new in names.items()):
        return where
    text = _WORD.sub(lambda word: names.get(word[0], word[0]), where.text)
    return Expression(parse(text), None, text)


class _Merge:
    """The tables of two releases as one, under the same names."""

    def __init__(self, old: Tables, new: Tables, serving: Serving, now: str) -> None:
        self.old, self.new, self.now = old, new, now
        self.is_before = serving == "before"

    def tables(self) -> dict[str, Table]:
        taken = {index for table in self.new.values() for index in table.indexes}
        found = {name: self.table(name, table) for name, table in self.new.items()}
        for name, table in self.old.items():
            if name not in self.new:
                found[name] = _left_table(table, taken)
        return {name: _tied(table, found) for name, table in found.items()}

    def table(self, name: str, new: Table) -> Table:
        old = self.old.get(name)
        if old is None:
            return new
        keeps_key = self.is_before and _key(old) != _key(new)
        columns = {key: self.column(old, new, key, keeps_key=keeps_key) for key in new.columns}
        for key, column in old.columns.items():
            if key not in new.columns:
                stays = keeps_key and key in old.key
                columns[key] = _with(column, references=None) if stays else _left(column)
        texts = texts_of(old)
        shared = {n for n, text in texts_of(new).items() if texts.get(n) == text}
        return _with(
            new,
            columns=columns,
            checks={name: check for name, check in new.checks.items() if name in shared},
            primary_key=(old if keeps_key else new).primary_key,
            indexes=self.indexes(old, new),
        )

    def column(self, old: Table, new: Table, key: str, *, keeps_key: bool) -> Column:
        wanted, live = new.columns[key], old.columns.get(key)
        if live is None:
            is_key = key in new.key and not keeps_key
            found = wanted if is_key else _with(_joining(wanted, self.now), primary_key=False)
        elif shares_type(live, wanted):
            found = self.loosened(live, wanted)
        else:
            found = live if self.is_before else wanted
        if live is not None and keeps_key:
            found = _with(found, primary_key=live.primary_key, auto=live.auto)
        if key in (old if keeps_key else new).key:
            serving = live if live is not None and keeps_key else wanted
            found = _with(found, nullable=serving.nullable)
        return found

    def loosened(self, old: Column, new: Column) -> Column:
        serving = old if self.is_before else new
        is_tied = old.references is not None and old.references == new.references
        looser: dict[str, Any] = {
            "nullable": old.nullable or new.nullable,
            "default": new.default if old.default is None else old.default,
            # ON CONFLICT needs it, repeated values need its removal: releases cannot share that
            "unique": new.unique or serving.unique,
            "enum": _union(old.enum, new.enum),
            "references": new.references if is_tied else None,
            "on_delete": serving.on_delete if is_tied else new.on_delete,
        }
        for bounds, choose in ((_LOWER, min), (_UPPER, max)):
            for bound in bounds:
                one, other = getattr(old, bound), getattr(new, bound)
                looser[bound] = None if None in (one, other) else choose(one, other)
        return _with(new, **looser)

    def indexes(self, old: Table, new: Table) -> dict[str, Index]:
        found = dict(new.indexes)
        for name, index in old.indexes.items():
            # a rule over a dropped column says nothing about rows that lack it
            is_rule = index.unique and new.columns.keys() >= index.reads
            if self.is_before if is_rule else name not in found:
                found[name] = index
        return found


def _joining(new: Column, now: str) -> Column:
    """Return a column in the form for rows of a release that does not know it."""
    if new.auto in {"created", "updated"} and not new.nullable:
        return _with(new, default=stamp(new.type, now), references=None)
    if new.default is None or new.unique:  # every row would have the same value
        return _with(new, default=None, nullable=True)
    return _with(new, references=None)  # such rows may not prevent the deletion of other rows


def _left(old: Column) -> Column:
    """Return a column that the new release does not know; a rule holds for null and a default."""
    stays = old.default is not None and not old.unique
    return _with(
        old,
        references=None,
        reverse=None,
        renamed_from=None,
        primary_key=False,
        auto=None,
        nullable=old.nullable or not stays,
        default=old.default if stays else None,
    )


def _left_table(old: Table, taken: set[str]) -> Table:
    columns = {
        key: _with(column, references=None, reverse=None, renamed_from=None)
        for key, column in old.columns.items()
    }
    indexes = {name: index for name, index in old.indexes.items() if name not in taken}
    return _with(old, columns=columns, indexes=indexes, seed=[], renamed_from=None)


def _tied(table: Table, tables: Tables) -> Table:
    """Return a table without references to columns that are not unique, which no row could obey."""
    loose = {
        name: _with(column, references=None)
        for name, column in table.columns.items()
        if column.references and not _is_unique(column.references, tables)
    }
    return _with(table, columns={**table.columns, **loose}) if loose else table


def _is_unique(reference: str, tables: Tables) -> bool:
    name, _, column = reference.partition(".")
    table = tables.get(name)
    if table is None or column not in table.columns:
        return False
    whole = (index for index in table.indexes.values() if index.where is None)
    indexes = (index.columns for index in whole if index.unique)
    return table.columns[column].unique or [column] in [list(table.key), *indexes]


def _key(table: Table) -> tuple[tuple[str, ...], bool]:
    return table.key, any(column.auto == "increment" for column in table.columns.values())


def _union(old: list[Any] | None, new: list[Any] | None) -> list[Any] | None:
    if old is None or new is None:
        return None
    more = [value for value in new if value not in old]
    return new if len(more) == len(new) - len(old) else [*old, *more]


def _with(model: M, **changes: Any) -> M:
    return model.model_copy(update=changes)
