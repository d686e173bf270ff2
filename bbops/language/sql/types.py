"""Tables as queries see them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from bbops.language.expressions.nodes import Literal, names_in
from bbops.language.expressions.types import Type, map_of, named
from bbops.language.expressions.values import Expression
from bbops.runtime.data.rows import LONGEST

_HAVE_A_FORM = frozenset({"uuid", "time", "decimal", "datetime", "date"})
"""Column types whose values are texts on SQLite, each in one form."""


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """A column. An insert may omit it with `auto` or `default`, and must omit it if `computed`."""

    name: str
    type: str
    nullable: bool = False
    private: bool = False
    auto: str | None = None
    default: Any = None
    enum: tuple[str | int | float, ...] = ()
    max_length: int | None = None
    computed: Expression | None = field(default=None, compare=False)

    @property
    def longest(self) -> int | None:
        """The most characters of a column whose length the database does not check."""
        if self.computed is not None:
            return None
        return LONGEST.get(self.type) if self.max_length is None and not self.enum else None

    @property
    def value_type(self) -> Type:
        """The type in expressions."""
        options = tuple(map(str, self.enum))  # 1 and True are one key otherwise
        return _value_type(self.type, options, nullable=self.nullable, private=self.private)

    def takes_as_is(self, of: Type) -> bool:
        """Return whether a value of that type is stored unchanged: it has the column's form."""
        own = self.value_type
        if self.type == "json":
            return False  # a text may not be JSON
        return self.type not in _HAVE_A_FORM or (of.kind == own.kind and of.form == own.form)

    @property
    def is_required(self) -> bool:
        """Whether an insert must give it a value."""
        is_filled = self.auto or self.default is not None or self.computed is not None
        return not (self.nullable or is_filled)


@dataclass(frozen=True, slots=True)
class Relation:
    """The one row that a foreign key points to: `author` for `author_id`.

    Attributes:
        optional: the row may be missing or hidden.
        hides: a row may exist that a query does not see; its key is known.
    """

    column: str
    table: str
    key: str
    optional: bool
    hides: bool = False


@dataclass(frozen=True, slots=True)
class Children:
    """The rows of another table whose `column` points to the `key` of this one."""

    table: str
    column: str
    key: str


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that decide which rows of a table a query sees.

    Attributes:
        scope: the condition of the rows that count, by own columns only.
        access: the conditions to read, insert, update and delete; empty if everything is allowed.
        soft_delete: the column that `delete` sets; empty if it removes rows.
        within: the tables as rules see them: with their scope, and without their access.
        file: the file of the rules.
    """

    scope: tuple[Expression, ...] = ()
    access: Mapping[str, Expression] = field(default_factory=dict)
    soft_delete: str = ""
    within: Mapping[str, SqlTable] = field(default_factory=dict, compare=False, repr=False)
    file: str = ""

    @property
    def hides(self) -> bool:
        """Whether rows may exist that a query does not see."""
        return bool(self.scope or self.of("read"))

    def asks_who(self, *operations: str) -> bool:
        """Return whether these rules depend on the caller."""
        return any("vars" in names_in(condition.node) for condition in self.of(*operations))

    def of(self, *operations: str) -> list[Expression]:
        """Return the access conditions of these operations, each once."""
        found = {
            id(self.access[operation]): self.access[operation]
            for operation in operations
            if operation in self.access
        }
        return [condition for condition in found.values() if not _is_always(condition)]


@dataclass(frozen=True, slots=True)
class Partial:
    """Columns that are unique among the rows that meet a condition."""

    columns: frozenset[str]
    where: Expression


def _is_always(condition: Expression) -> bool:
    return isinstance(condition.node, Literal) and condition.node.value is True


@dataclass(frozen=True, slots=True)
class SqlTable:
    """A table: its columns in order, the names of its primary key, every set that is unique.

    Attributes:
        partial: the columns that are unique among some rows.
        relations: to one row each; a column of the same name comes first.
        children: to many rows each, by the child table's name or its `reverse`.
        tables: all tables of the project, with the rules that apply while this table is read.
        rules: the rules of its rows; None if everybody sees all of them.
    """

    name: str
    columns: Mapping[str, SqlColumn]
    key: tuple[str, ...]
    uniques: frozenset[frozenset[str]] = frozenset()
    partial: tuple[Partial, ...] = field(default=(), compare=False)
    relations: Mapping[str, Relation] = field(default_factory=dict)
    children: Mapping[str, Children] = field(default_factory=dict)
    tables: Mapping[str, SqlTable] = field(default_factory=dict, compare=False, repr=False)
    rules: Rules | None = field(default=None, compare=False, repr=False)

    def unique_type(self, column: str) -> str:
        """Return the type by which the values of a unique column are distinguished.

        A foreign key points to the written text, so a decimal that it points to is a text.
        """
        of = self.columns[column].type
        is_key = column in self.key or any(child.key == column for child in self.children.values())
        return "text" if of == "decimal" and is_key else of

    @property
    def hides(self) -> bool:
        """Whether rows may exist that a query does not see."""
        return self.rules is not None and self.rules.hides

    @property
    def seen(self) -> list[Expression]:
        """The conditions of a visible row for a reader."""
        return [] if self.rules is None else [*self.rules.scope, *self.rules.of("read")]

    @property
    def computes(self) -> bool:
        """Whether it has columns that are not in the database."""
        return any(column.computed is not None for column in self.columns.values())

    @property
    def stored(self) -> SqlTable:
        """The table as the database has it, without computed columns."""
        if not self.computes:
            return self
        kept = {name: column for name, column in self.columns.items() if column.computed is None}
        return replace(self, columns=kept)

    def has(self, past: str) -> bool:
        """Return whether a step's `unscoped` or `bypassAccess` would have an effect."""
        rules = self.rules
        return rules is not None and bool(rules.scope if past == "unscoped" else rules.access)

    def partly_unique(self, columns: Collection[str]) -> list[Partial]:
        """Return the unique indexes of columns among some rows, unless they are unique in all."""
        names = frozenset(columns)
        return [
            partial
            for partial in self.partial
            if partial.columns == names and names not in self.uniques
        ]

    @property
    def column_types(self) -> dict[str, Type]:
        """Each column's type, by name."""
        return {name: column.value_type for name, column in self.columns.items()}

    @property
    def longest(self) -> dict[str, int]:
        """The most characters of its columns without a `maxLength`."""
        found = {name: column.longest for name, column in self.columns.items()}
        return {name: most for name, most in found.items() if most is not None}

    def query_types(self, depth: int = 2) -> dict[str, Type]:
        """Return the names that a query may read: columns, and rows of relations."""
        found: dict[str, Type] = {}
        for name, relation in self.relations.items() if depth else ():
            target = self.tables[relation.table]
            of = map_of(target.query_types(depth - 1), f"table '{target.name}'")
            found[name] = _all_null(of) if relation.optional else of
            if relation.hides:  # the key stays, whether or not its row is there
                own = self.columns[relation.column].value_type
                fields = {**(found[name].fields or {}), relation.key: own}
                found[name] = map_of(fields, found[name].what)
        return {**found, **self.column_types}

    def follow(self, path: Sequence[str]) -> SqlTable | None:
        """Return the table at the end of relations; None if a name is not a relation."""
        table = self
        for name in path:
            relation = None if name in table.columns else table.relations.get(name)
            if relation is None:
                return None
            table = self.tables[relation.table]
        return table

    def many_types(self, path: Sequence[str]) -> tuple[SqlTable, dict[str, Type]] | None:
        """Return the table at the end of `comments` or `team.members`, and its rows' types."""
        last = self.follow(path[:-1])
        if last is None or path[-1] not in last.children:
            return None
        target = self.tables[last.children[path[-1]].table]
        return target, target.query_types()

    def reachable(self, names: Collection[str]) -> set[str]:
        """Return the tables at the end of relations with these names, at any depth."""
        found: set[str] = set()
        todo = [self]
        while todo:
            table = todo.pop()
            to_one = [relation.table for name, relation in table.relations.items() if name in names]
            to_many = [child.table for name, child in table.children.items() if name in names]
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


def linked(tables: Mapping[str, SqlTable]) -> dict[str, SqlTable]:
    """Return tables that refer to each other, with optional relations where rows may be hidden."""
    found: dict[str, SqlTable] = {}
    for name, table in tables.items():
        relations = {
            key: replace(relation, optional=True, hides=not relation.optional)
            if tables[relation.table].hides else relation
            for key, relation in table.relations.items()
        }  # fmt: skip
        found[name] = replace(table, relations=relations, tables=found)
    return found


def lifted(
    tables: Mapping[str, SqlTable], *, scope: Collection[str] = (), access: Collection[str] = ()
) -> Mapping[str, SqlTable]:
    """Return the tables as a step sees them that ignores some rules.

    Args:
        scope: the tables whose every row counts.
        access: the tables of which the step may see and change each row.
    """
    if not {*scope, *access} & tables.keys():
        return tables
    return linked({
        name: replace(
            table, rules=_lifted(table.rules, scope=name in scope, access=name in access),
            relations={key: _as_declared(relation) for key, relation in table.relations.items()},
        )
        for name, table in tables.items()
    })  # fmt: skip


def _lifted(rules: Rules | None, *, scope: bool, access: bool) -> Rules | None:
    if rules is None:
        return None
    if scope:
        rules = replace(rules, scope=(), soft_delete="")
    return replace(rules, access={}) if access else rules


def _as_declared(relation: Relation) -> Relation:
    return replace(relation, optional=False, hides=False) if relation.hides else relation


@lru_cache(maxsize=1_000)
def _value_type(kind: str, options: tuple[str, ...], *, nullable: bool, private: bool) -> Type:
    found = named(kind, options)
    if nullable:
        found = found.or_null()
    return replace(found, private=True) if private else found


def _all_null(of: Type) -> Type:
    """Return a type in which everything is nullable: a relation may have no row."""
    if of.kind != "map" or of.fields is None:
        return of.or_null()
    return map_of({name: _all_null(type_) for name, type_ in of.fields.items()}, of.what)
