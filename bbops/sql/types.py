"""Tables as queries see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bbops.expressions.types import Type, named


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `auto` and `default` say what an insert may leave out."""

    name: str
    type: str
    nullable: bool = False
    private: bool = False
    auto: str | None = None
    default: Any = None

    @property
    def value_type(self) -> Type:
        """The type that an expression sees."""
        found = named(self.type)
        if self.nullable:
            found = found.or_null()
        return replace(found, private=True) if self.private else found

    @property
    def is_required(self) -> bool:
        """Whether an insert has to give it."""
        return not (self.nullable or self.auto or self.default is not None)


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns in order, the names of its primary key, every set that is unique."""

    name: str
    columns: Mapping[str, Column]
    key: tuple[str, ...]
    uniques: frozenset[frozenset[str]] = frozenset()

    @property
    def column_types(self) -> dict[str, Type]:
        """Each column's type, by name."""
        return {name: column.value_type for name, column in self.columns.items()}

    def row_type(self, columns: tuple[str, ...] | None = None) -> Type:
        """Return the type of a row with these columns, by default all."""
        types = self.column_types
        names = columns if columns is not None else tuple(types)
        return Type(
            "map", fields={name: types[name] for name in names if name in types},
            what=f"table '{self.name}'",
        )  # fmt: skip


def quote(name: str) -> str:
    """Return an identifier as SQL writes it. Names come from the schema, never from a request."""
    return '"' + name.replace('"', '""') + '"'
