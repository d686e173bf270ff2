"""What is known of a value before it exists.

`any` is what nothing is known of: parsed JSON, a column of type json, a result not yet typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

TEXT_COLUMNS = frozenset({"string", "text", "uuid", "time"})
TEXT_FIELDS = TEXT_COLUMNS | {"email", "url"}


@dataclass(frozen=True, slots=True)
class Type:
    """A kind, and what is inside it.

    Attributes:
        kind: any, null, text, integer, number, decimal, boolean, datetime, date, binary,
            list or map.
        nullable: null is possible.
        item: the type of a list's members.
        fields: a map's fields; None when its keys are not known.
        rest: the type of names that `fields` does not hold; None refuses them.
        private: must not reach a client.
        what: how a message names it, for example `table 'users'`.
    """

    kind: str
    nullable: bool = False
    item: Type | None = None
    fields: Mapping[str, Type] | None = None
    rest: Type | None = None
    private: bool = False
    what: str = ""

    def __str__(self) -> str:
        name = f"list of {self.item}" if self.kind == "list" and self.item else self.kind
        return f"{name} or null" if self.nullable and self.kind not in {"any", "null"} else name

    def or_null(self) -> Type:
        """Return this type with null allowed."""
        return self if self.kind in {"any", "null"} else replace(self, nullable=True)

    def not_null(self) -> Type:
        """Return this type without null."""
        return replace(self, nullable=False) if self.kind != "null" else ANY


ANY = Type("any", nullable=True)
NULL = Type("null", nullable=True)
TEXT = Type("text")
INTEGER = Type("integer")
NUMBER = Type("number")
BOOLEAN = Type("boolean")
DATETIME = Type("datetime")

_SIMPLE = {
    "integer": INTEGER, "bigint": INTEGER, "number": NUMBER, "boolean": BOOLEAN,
    "datetime": DATETIME, "date": Type("date"), "decimal": Type("decimal"),
    "binary": Type("binary"), "json": ANY,
}  # fmt: skip


def list_of(item: Type) -> Type:
    """Return the type of a list of `item`."""
    return Type("list", item=item)


def map_of(fields: Mapping[str, Type], what: str = "", *, rest: Type | None = None) -> Type:
    """Return the type of a map with these fields, and `rest` under any other name."""
    return Type("map", fields=dict(fields), rest=rest, what=what)


def named(name: str) -> Type:
    """Return the type that a column's or a shape's type name stands for."""
    return TEXT if name in TEXT_FIELDS else _SIMPLE[name]


def join(left: Type, right: Type) -> Type:
    """Return a type that both values have; `any` when they share nothing."""
    if left == right:
        return left
    if left.kind == "null":
        return right.or_null()
    if right.kind == "null":
        return left.or_null()
    private = left.private or right.private
    if left.kind == right.kind and left.kind not in {"list", "map"}:
        return replace(left, nullable=left.nullable or right.nullable, private=private)
    if {left.kind, right.kind} == {"integer", "number"}:
        return Type("number", left.nullable or right.nullable, private=private)
    return replace(ANY, private=has_private(left) or has_private(right))


def fits(of: Type, kind: str) -> bool:
    """Return whether a value of this type may be of `kind`, a word of filters' `takes`."""
    if of.kind in {"any", "null"} or kind in {"any", "same", "item", of.kind}:
        return True
    return of.kind in _ALSO.get(kind, ())


_ALSO = {"number": {"integer", "decimal"}, "integer": {"number"}, "bytes": {"binary"}}
_UNORDERED = frozenset({"boolean", "list", "map", "binary"})


def comparable(left: Type, right: Type, *, ordered: bool) -> bool:
    """Return whether two values may be equal, or with `ordered` less or more."""
    if ordered and not {left.kind, right.kind}.isdisjoint(_UNORDERED):
        return False
    known = [of for of in (left, right) if of.kind not in {"any", "null"}]
    return len({"number" if fits(of, "number") else of.kind for of in known}) < 2


def concealed(found: Type, *, by: Iterable[Type]) -> Type:
    """Return a type made private where something it was made from is; a boolean tells nothing."""
    if found.kind == "boolean" or not any(map(has_private, by)):
        return found
    return replace(found, private=True)


def has_private(of: Type) -> bool:
    """Return whether a private value is in it, at any depth."""
    if of.private or (of.item is not None and has_private(of.item)):
        return True
    return any(map(has_private, (of.fields or {}).values()))
