"""The structure of tables, as frozen values: the same for live and for declared tables.

A migration is the difference of two of them; each database has its own reader and its own writer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from bbops.database.schema.conversions import reads_as

Kind = Literal[
    "add table", "drop table", "add column", "drop column", "type", "null", "default", "counts",
    "rules", "rule names", "reference", "key", "table rules", "add index", "drop index",
    "index name",
]  # fmt: skip


_NAME: Final = re.compile('"([^"]+)"')
_TEXT: Final = re.compile("'(?:[^']|'')*'")


@dataclass(frozen=True, slots=True)
class Rule:
    """A CHECK. Two are equal if their text is: names and columns may change beside them."""

    hash: str
    name: str = field(compare=False)
    sql: str = field(default="", compare=False)
    """Empty if it was read from a database."""


_OPTIONS: Final = re.compile(r"(.*) IN \((.*)\)", re.DOTALL).fullmatch
_BOUND: Final = re.compile(r"(.* [<>]=) (-?[0-9][0-9.e+-]*)").fullmatch
_LITERAL: Final = re.compile(r"'(?:[^']|'')*'|[^,\s]+")


def tighter_rules(have: frozenset[Rule], want: frozenset[Rule]) -> frozenset[Rule]:
    """Return the wanted rules that a row may break which obeys the existing ones."""
    gone = have - want
    return frozenset(
        rule for rule in want - have if not any(_is_wider(old.sql, rule.sql) for old in gone)
    )


def _is_wider(old: str, new: str) -> bool:
    """Return whether one rule accepts everything that another does: more options, a wider bound."""
    before, after = _OPTIONS(old), _OPTIONS(new)
    if before and after:
        options = ({*_LITERAL.findall(match[2])} for match in (before, after))
        return before[1] == after[1] and next(options) <= next(options)
    before, after = _BOUND(old), _BOUND(new)
    if not before or not after or before[1] != after[1]:
        return False
    least, most = (float(before[2]), float(after[2]))
    return least <= most if before[1].endswith("<=") else least >= most


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key of one column."""

    table: str
    column: str
    on_delete: str
    name: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        type: the type in the database's words.
        kind: the declared type; empty if it is not recorded.
        default: the default in the form of `bbops.database.schema.conversions.literal`.
        default_sql: the default in the database's words; only for declared columns.
        is_stamped: its default is ignored: a column that joined a table with rows keeps the time of
                its migration.
        counts: it gives each new row the next number.
    """

    type: str
    kind: str = ""
    nullable: bool = False
    default: str | None = None
    default_sql: str | None = field(default=None, compare=False)
    is_stamped: bool = False
    counts: bool = False
    rules: frozenset[Rule] = frozenset()
    reference: Reference | None = None


@dataclass(frozen=True, slots=True)
class Index:
    """An index over columns, in that order.

    Attributes:
        where: the condition of its rows, as SQL of bare columns; empty for all.
        keys: the indexed SQL of each column; empty if these are the columns unchanged.
    """

    columns: tuple[str, ...]
    unique: bool
    where: str = ""
    keys: tuple[str, ...] = ()

    @property
    def listed(self) -> str:
        """The indexed columns or expressions, as SQL."""
        return ", ".join(self.keys or (f'"{column}"' for column in self.columns))

    @property
    def reads(self) -> frozenset[str]:
        """The columns that the index requires."""
        named = _NAME.findall(_TEXT.sub("", self.where))
        return frozenset({*self.columns, *named})


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `rules` are the rules that belong to no single column."""

    columns: Mapping[str, Column]
    key: tuple[str, ...]
    indexes: Mapping[str, Index] = field(default_factory=dict)
    rules: frozenset[Rule] = frozenset()


Shape = Mapping[str, Table]
"""Tables by name."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of a table, or of `what`, a column or an index of it."""

    kind: Kind
    table: str
    what: str = ""


def differ(have: Shape, want: Shape) -> tuple[Difference, ...]:
    """Return the differences from one shape to the other, tables by name. O(their size)."""
    return tuple(_differences(have, want))


def _differences(have: Shape, want: Shape) -> Iterator[Difference]:
    for name in sorted(have.keys() - want.keys()):
        yield Difference("drop table", name)
    for name in sorted(want.keys() - have.keys()):
        yield Difference("add table", name)
    for name in sorted(want.keys() & have.keys()):
        yield from _in_table(name, have[name], want[name])


def _in_table(name: str, have: Table, want: Table) -> Iterator[Difference]:
    for column in have.columns.keys() - want.columns.keys():
        yield Difference("drop column", name, column)
    for column, wanted in want.columns.items():
        if column not in have.columns:
            yield Difference("add column", name, column)
            continue
        for kind in _in_column(have.columns[column], wanted):
            yield Difference(kind, name, column)
    if have.key != want.key:
        yield Difference("key", name)
    if have.rules != want.rules:
        yield Difference("table rules", name)
    yield from _in_indexes(name, have, want)


def _in_column(have: Column, want: Column) -> Iterator[Kind]:
    if have.type != want.type or not reads_as(have.kind or want.kind, want.kind):
        yield "type"
    if have.nullable != want.nullable:
        yield "null"
    if have.default != want.default and not want.is_stamped:
        yield "default"
    if have.counts != want.counts:
        yield "counts"
    if have.rules != want.rules:
        yield "rules"
    elif {rule.name for rule in have.rules} != {rule.name for rule in want.rules}:
        yield "rule names"
    if have.reference != want.reference:
        yield "reference"


def _in_indexes(name: str, have: Table, want: Table) -> Iterator[Difference]:
    """Compare indexes; one of ours with only another name, after a rename, is renamed."""
    gone = {key: index for key, index in have.indexes.items() if want.indexes.get(key) != index}
    new = {key: index for key, index in want.indexes.items() if have.indexes.get(key) != index}
    for key, index in new.items():
        old = _old_name(key, index, gone)
        if old:
            del gone[old]
            yield Difference("index name", name, key)
        else:
            yield Difference("add index", name, key)
    for key in gone:
        yield Difference("drop index", name, key)


def old_index(have: Table, want: Table, name: str) -> str:
    """Return the name in `have` of the wanted index `name`, if only its name differs."""
    gone = {key: have.indexes[key] for key in sorted(have.indexes.keys() - want.indexes.keys())}
    return _old_name(name, want.indexes[name], gone)


def _old_name(name: str, index: Index, among: Mapping[str, Index]) -> str:
    """Return the index that will be renamed to `name`, one of our names; else empty."""
    if not name.startswith(_OURS):
        return ""
    same = (old for old, found in among.items() if old[:3] == name[:3] and found == index)
    return next(same, "")


_OURS: Final = ("uq_", "ix_")
