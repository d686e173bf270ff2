"""Tables as queries see them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from bbops.language.expressions.types import Type, map_of, named
from bbops.runtime.data.rows import LONGEST


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `auto` and `default` say what an insert may leave out."""

    name: str
    type: str
    nullable: bool = False
    private: bool = False
    auto: str | None = None
    default: Any = None
    enum: tuple[str | int | float, ...] = ()
    max_length: int | None = None

    @property
    def longest(self) -> int | None:
        """How many characters it takes where the database keeps no rule about that."""
        return LONGEST.get(self.type) if self.max_length is None and not self.enum else None

    @property
    def value_type(self) -> Type:
        """The type that an expression sees."""
        options = tuple(map(str, self.enum))  # 1 and True are one key otherwise
        return _value_type(self.type, options, nullable=self.nullable, private=self.private)

    @property
    def is_required(self) -> bool:
        """Whether an insert has to give it."""
        return not (self.nullable or self.auto or self.default is not None)


@dataclass(frozen=True, slots=True)
class Relation:
    """The one row that a foreign key points to: `author` for `author_id`."""

    column: str
    table: str
    key: str
    optional: bool


@dataclass(frozen=True, slots=True)
class Children:
    """The rows of another table whose `column` points to the `key` of this one."""

    table: str
    column: str
    key: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns in order, the names of its primary key, every set that is unique.

    Attributes:
        relations: to one row each; a column of the same name comes first.
        children: to many rows each, by the child table's name or its `reverse`.
        tables: all tables of the project.
    """

    name: str
    columns: Mapping[str, Column]
    key: tuple[str, ...]
    uniques: frozenset[frozenset[str]] = frozenset()
    relations: Mapping[str, Relation] = field(default_factory=dict)
    children: Mapping[str, Children] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict, compare=False, repr=False)

    @property
    def column_types(self) -> dict[str, Type]:
        """Each column's type, by name."""
        return {name: column.value_type for name, column in self.columns.items()}

    @property
    def longest(self) -> dict[str, int]:
        """How many characters those of its columns take that say no `maxLength`."""
        found = {name: column.longest for name, column in self.columns.items()}
        return {name: most for name, most in found.items() if most is not None}

    def query_types(self, depth: int = 2) -> dict[str, Type]:
        """Return what a query may read by name: columns, and rows that relations lead to."""
        found: dict[str, Type] = {}
        for name, relation in self.relations.items() if depth else ():
            target = self.tables[relation.table]
            of = map_of(target.query_types(depth - 1), f"table '{target.name}'")
            found[name] = _all_null(of) if relation.optional else of
        return {**found, **self.column_types}

    def follow(self, path: Sequence[str]) -> Table | None:
        """Return the table that relations lead to; None where one of the names is none."""
        table = self
        for name in path:
            relation = None if name in table.columns else table.relations.get(name)
            if relation is None:
                return None
            table = self.tables[relation.table]
        return table

    def many_types(self, path: Sequence[str]) -> tuple[Table, dict[str, Type]] | None:
        """Return the table at the end of `comments` or `team.members`, and what it has."""
        last = self.follow(path[:-1])
        if last is None or path[-1] not in last.children:
            return None
        target = self.tables[last.children[path[-1]].table]
        return target, target.query_types()

    def reachable(self, names: Collection[str]) -> set[str]:
        """Return the tables that relations of these names lead to, at any depth."""
        found: set[str] = set()
        todo = [self]
        while todo:
            table = todo.pop()
            to_one = [one.table for name, one in table.relations.items() if name in names]
            to_many = [one.table for name, one in table.children.items() if name in names]
            new = {*to_one, *to_many} - found
            found |= new
            todo += [self.tables[name] for name in new]
        return found

    def row_type(self, columns: tuple[str, ...] | None = None) -> Type:
        """Return the type of a row with these columns, by default all."""
        types = self.column_types
        names = columns if columns is not None else tuple(types)
        return Type(
            "map", fields={name: types[name] for name in names if name in types},
            what=f"table '{self.name}'",
        )  # fmt: skip


@lru_cache(maxsize=1_000)
def _value_type(kind: str, options: tuple[str, ...], *, nullable: bool, private: bool) -> Type:
    found = named(kind, options)
    if nullable:
        found = found.or_null()
    return replace(found, private=True) if private else found


def _all_null(of: Type) -> Type:
    """A relation may have no row: then all that is read through it is null."""
    if of.kind != "map" or of.fields is None:
        return of.or_null()
    return map_of({name: _all_null(one) for name, one in of.fields.items()}, of.what)
