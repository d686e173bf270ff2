"""The type of a value before it exists.

`any` is the type of an unknown value: parsed JSON, a column of type json, an untyped result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Final

from bbops.language.expressions.nodes import Literal, Node

TEXT_COLUMNS = frozenset({"string", "text", "uuid", "time"})
TEXT_FIELDS = TEXT_COLUMNS | {"email", "url"}
FORMS = frozenset({"uuid", "time"})
"""Types whose values are texts in one normal form."""
MAX_SIZE = 5_000
"""The most parts of a type; a larger type becomes `any`, which keeps every check fast."""


SECRET: Final = "a secret of env"  # noqa: S105 - its name
"""The name of a secret's type; its value may not be compared, so that it cannot be guessed."""


@dataclass(frozen=True, slots=True)
class Type:
    """A kind, and the types inside it.

    Attributes:
        kind: any, null, text, integer, number, decimal, boolean, datetime, date, binary,
            list or map.
        nullable: null is possible.
        item: the type of a list's members.
        fields: a map's fields; None when its keys are not known.
        rest: the type of names outside of `fields`; None rejects them.
        private: the value must not reach a client.
        what: the name in messages, for example `table 'users'`.
        absent: for a map's field: it is null only if the map lacks the key.
        options: for a text: its allowed values; empty for any text.
        form: for a text: `uuid` or `time` if it has that normal form, else empty.
        hides: a private value is in it, at any depth.
        holds_secret: a secret of `env` is in it, at any depth.
        size: the number of its parts.
    """

    kind: str
    nullable: bool = False
    item: Type | None = None
    fields: Mapping[str, Type] | None = None
    rest: Type | None = None
    private: bool = False
    what: str = ""
    absent: bool = False
    options: tuple[str, ...] = ()
    form: str = ""
    hides: bool = field(default=False, init=False, compare=False, repr=False)
    holds_secret: bool = field(default=False, init=False, compare=False, repr=False)
    size: int = field(default=1, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        hides, size = self.private, 1
        secret = hides and self.what == SECRET
        if self.item is not None or self.fields or self.rest is not None:
            for part in self.parts():
                hides, size = hides or part.hides, size + part.size
                secret = secret or part.holds_secret
        if size > MAX_SIZE:
            for name, value in (("kind", "any"), ("nullable", True), ("private", hides)):
                object.__setattr__(self, name, value)
            for name in ("item", "fields", "rest"):
                object.__setattr__(self, name, None)
            object.__setattr__(self, "what", SECRET if secret else self.what)
            size = 1
        object.__setattr__(self, "hides", hides)
        object.__setattr__(self, "holds_secret", secret)
        object.__setattr__(self, "size", size)

    def __str__(self) -> str:
        name = f"list of {self.item}" if self.kind == "list" and self.item else self.kind
        return f"{name} or null" if self.nullable and self.kind not in {"any", "null"} else name

    @property
    def is_html(self) -> bool:
        """Whether it is text in which all input is escaped."""
        return self.what == "html" and self.kind == "text"

    @property
    def is_never(self) -> bool:
        """Whether there are no values of this type."""
        return self.what == "no value"

    def parts(self) -> Iterable[Type]:
        """Return the types directly inside."""
        inner = [part for part in (self.item, self.rest) if part is not None]
        return [*inner, *self.fields.values()] if self.fields else inner

    def or_null(self) -> Type:
        """Return this type with null allowed."""
        if self.is_never:
            return NULL
        done = self.nullable and not self.absent
        return self if done else self._taking(null=True)

    def or_absent(self) -> Type:
        """Return this type as a map's field that may be left out."""
        if self.is_never:
            return replace(NULL, absent=True)
        return self if self.nullable else self._taking(null=True, absent=True)

    def not_null(self) -> Type:
        """Return this type without null; null itself becomes the type without values."""
        if self.kind == "null":
            return mistaken(hides=self.private)
        return self._taking(null=False) if self.nullable else self

    def as_read(self) -> Type:
        """Return the type of a field after a read: a missing key becomes an ordinary null."""
        return self._taking(null=self.nullable) if self.absent else self

    def _taking(self, *, null: bool, absent: bool = False) -> Type:
        """Return this type with or without null; `replace` takes five times as long."""
        return Type(
            self.kind, null, self.item, self.fields, self.rest, self.private, self.what, absent,
            self.options, self.form,
        )  # fmt: skip


ANY = Type("any", nullable=True)
NULL = Type("null", nullable=True)
NEVER = Type("any", what="no value")
"""The type without values: members of `[]`, and mistakes. A join returns the other type."""
TEXT = Type("text")
HTML = Type("text", what="html")
"""Text in which all input is escaped; joined with other text it is text."""
ANSWER = "the answer"
"""The names of the maps in a test's results."""
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
    return Type("list", item=item.as_read())


def map_of(fields: Mapping[str, Type], what: str = "", *, rest: Type | None = None) -> Type:
    """Return the type of a map with these fields, and `rest` under any other name."""
    return Type("map", fields=dict(fields), rest=rest, what=what)


def mistaken(*, hides: bool) -> Type:
    """Return the type of an expression with a mistake inside, which fits everything."""
    return replace(NEVER, private=True) if hides else NEVER


def named(name: str, enum: Iterable[object] = ()) -> Type:
    """Return the type for the type name of a column or a shape, with its `enum`."""
    if name not in TEXT_FIELDS:
        return _SIMPLE[name]
    options, form = tuple(map(str, enum)), name if name in FORMS else ""
    return Type("text", options=options, form=form) if options or form else TEXT


def type_of_constant(value: object) -> Type:
    """Return the type of a constant in the file."""
    kinds = {bool: BOOLEAN, int: INTEGER, float: NUMBER, str: TEXT}
    return NULL if value is None else kinds.get(type(value), ANY)


def either_way(left: Node, then: Type, right: Node, other: Type) -> Type:
    """Return the type of one of two values; a constant text has itself as its only option."""
    sides = [
        replace(of, options=(node.value,))
        if isinstance(node, Literal) and isinstance(node.value, str) else of
        for node, of in ((left, then), (right, other))
    ]  # fmt: skip
    return join(*sides)


def join(left: Type, right: Type) -> Type:
    """Return a type that both values have; `any` if they have nothing in common."""
    if left is right or right.is_never:
        return left
    if left.is_never or left == right:
        return right
    found = _joined(left, right)
    return concealed(found, by=[side for side in (left, right) if is_secret(side)])


def _joined(left: Type, right: Type) -> Type:
    if "null" in {left.kind, right.kind}:
        other = right if left.kind == "null" else left
        private = left.private or right.private
        return replace(other.or_null(), private=private or other.private)
    nullable = left.nullable or right.nullable
    absent = nullable and all(side.absent or not side.nullable for side in (left, right))
    if left.kind == right.kind == "map":
        return replace(_join_maps(left, right), nullable=nullable, absent=absent)
    private = left.private or right.private
    if left.kind == right.kind == "list":
        item = join(left.item or ANY, right.item or ANY)
        return Type("list", nullable, item, private=private, absent=absent)
    if left.kind == right.kind:
        what = left.what if left.what == right.what else ""
        options = _either(left.options, right.options)
        form = left.form if left.form == right.form else ""
        return replace(
            left, nullable=nullable, private=private, absent=absent, what=what, options=options,
            form=form,
        )  # fmt: skip
    if {left.kind, right.kind} == {"integer", "number"}:
        return Type("number", nullable, private=private, absent=absent)
    return concealed(replace(ANY, nullable=nullable), by=[left, right])


def _either(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options of a text from either side; none if a side has no options."""
    return tuple(dict.fromkeys(left + right)) if left and right else ()


def joined(types: Iterable[Type]) -> Type:
    """Return a type that all values have."""
    return reduce(join, types, NEVER)


def _join_maps(left: Type, right: Type) -> Type:
    if left.fields is None or right.fields is None:
        return concealed(Type("map"), by=[left, right])
    names = {**left.fields, **right.fields}
    fields = {name: _join_fields(*(side.fields.get(name, side.rest) if side.fields else None
                                   for side in (left, right))) for name in names}  # fmt: skip
    rest = _join_fields(left.rest, right.rest) if left.rest or right.rest else None
    what = left.what if left.what == right.what else ""
    private = left.private or right.private
    return Type("map", fields=fields, rest=rest, private=private, what=what)


def _join_fields(left: Type | None, right: Type | None) -> Type:
    if left is None or right is None:
        return (left or right or ANY).or_absent()
    return join(left, right)


def merged(left: Type, right: Type) -> Type:
    """Return the type of the left map, overwritten with the fields of the right one."""
    if left.fields is None or right.fields is None:
        return concealed(Type("map"), by=[left, right])
    fields = dict(left.fields)
    for name, of in right.fields.items():
        kept = fields.get(name)
        fields[name] = join(kept, of.not_null()) if of.absent and kept is not None else of
    rest = left.rest if right.rest is None else right.rest
    return Type("map", fields=fields, rest=rest, private=left.private or right.private)


def fits(of: Type, kind: str) -> bool:
    """Return whether a value of this type may be of `kind`, a word in the `takes` of filters."""
    if of.kind in {"any", "null"} or kind in {"any", "same", "item", of.kind}:
        return True
    return of.kind in _ALSO.get(kind, ())


_ALSO = {
    "number": {"integer", "decimal"}, "integer": {"number"}, "decimal": {"integer", "number"},
    "bytes": {"binary"},
}  # fmt: skip
_UNORDERED = frozenset({"boolean", "list", "map", "binary"})
_WRITTEN = frozenset({"datetime", "date", "decimal"})
"""Kinds that a shape also accepts as text."""


def comparable(left: Type, right: Type, *, ordered: bool) -> bool:
    """Return whether two values may be equal, or with `ordered` less or greater."""
    if ordered and not {left.kind, right.kind}.isdisjoint(_UNORDERED):
        return False
    known = [of for of in (left, right) if of.kind not in {"any", "null"}]
    return len({"number" if fits(of, "number") else of.kind for of in known}) < 2


def may_be_null(of: Type) -> bool:
    """Return whether null is known to be possible; for `any` this shows at run time."""
    return of.nullable and of.kind != "any"


@dataclass(frozen=True, slots=True)
class Misfit:
    """The reason why a value does not fit: its path, both types, and whether null is the cause."""

    path: str
    found: Type
    wanted: Type
    is_null: bool


def find_misfit(found: Type, wanted: Type, path: str = "") -> Misfit | None:
    """Return why a shape's field of type `wanted` rejects such a value; None if it accepts it."""
    if wanted.kind == "any":
        return None
    if may_be_null(found) and not wanted.nullable:
        return Misfit(path, found, wanted, is_null=True)
    if not fits(found, wanted.kind) and not (found.kind == "text" and wanted.kind in _WRITTEN):
        return Misfit(path, found, wanted, is_null=False)
    if wanted.item is not None and found.item is not None:
        return find_misfit(found.item, wanted.item, f"{path}[]")
    if found.fields is None or wanted.fields is None:
        return None
    inner = (
        _find_field_misfit(found.fields.get(name, found.rest), of, f"{path}.{name}")
        for name, of in wanted.fields.items()
    )
    return next(filter(None, inner), None)


def _find_field_misfit(found: Type | None, wanted: Type, path: str) -> Misfit | None:
    """Compare the types of a map's field; an optional field rejects null too."""
    if found is None and wanted.kind == "any" and not wanted.absent:
        return Misfit(path, NULL, wanted, is_null=True)
    if not wanted.absent:
        return find_misfit(found or NULL, wanted, path)
    if found is None:
        return None
    return find_misfit(found.not_null() if found.absent else found, wanted.not_null(), path)


def concealed(found: Type, *, by: Iterable[Type]) -> Type:
    """Return a type, private if it comes from a private value; a boolean reveals nothing."""
    hidden = [source for source in by if source.hides]
    if not hidden or found.kind == "boolean":
        return found
    if any(source.holds_secret for source in hidden):
        return found if is_secret(found) else replace(found, private=True, what=SECRET)
    return found if found.private else replace(found, private=True)


def is_secret(of: Type) -> bool:
    """Return whether a value is a secret of `env`, or contains one unchanged."""
    return of.private and of.what == SECRET
