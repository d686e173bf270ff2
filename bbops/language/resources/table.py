"""table: columns, keys and rules of one table; the file's name is the table's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, Self, cast

from pydantic import (
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from bbops.base.model import Model, Plain, need_one_of
from bbops.base.names import ColumnName
from bbops.language.expressions.nodes import names_in
from bbops.language.expressions.values import Bare, BareField, Expression
from bbops.language.resources._kind import Kind

ColumnType = Literal[
    "string", "text", "integer", "bigint", "number", "decimal", "boolean",
    "datetime", "date", "time", "uuid", "json", "binary",
]  # fmt: skip
Reference = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}\.[a-z][a-z0-9_]{0,62}$")
]


class Column(Model):
    """One column. Nothing is nullable unless it says so.

    - `{ like: tickets.state }` has the type, the `enum` and the bounds of that column, and nothing
      else of it. Other keys beside it may be stricter, never looser.
    - `{ computed: quantity * price }` is computed out of columns of its own row wherever it is
      read, and cannot be written. It is not in the database: `where`, `orderBy`, groups and rules
      of the table read it, events and topics do not have it. It may be `private`.
    """

    type: ColumnType = cast("ColumnType", "")  # until `like` is resolved
    like: Reference | None = None
    computed: BareField | None = Field(default=None, exclude=True)
    primary_key: bool = False
    nullable: bool = False
    unique: bool = False
    private: bool = False
    auto: Literal["increment", "uuid", "created", "updated"] | None = None
    default: Plain = None
    enum: list[str | int | float] | None = Field(default=None, min_length=1)
    min_length: Annotated[int, Field(ge=0)] | None = None
    max_length: Annotated[int, Field(ge=1)] | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    references: Reference | None = None
    reverse: ColumnName | None = None
    on_delete: Literal["restrict", "cascade", "setNull"] = "restrict"
    renamed_from: ColumnName | None = None
    description: str | None = None

    @property
    def reads(self) -> frozenset[str]:
        """The columns that it is computed from; none if it is stored."""
        value = self.computed
        return frozenset(names_in(value.node) if isinstance(value, Expression) else ())

    @model_validator(mode="before")
    @classmethod
    def check_type(cls, data: Any) -> Any:
        """Refuse a column without a type, or with a type of its own beside `like`."""
        ways = ("type", "like", "computed")
        has_one = isinstance(data, dict) and not data.keys().isdisjoint(ways)
        return need_one_of(cls, data, *(ways if has_one else ("type",)))


class Index(Model):
    """An index over one or more columns, in that order.

    - With `where` only of the rows that meet it: a condition on columns of the table, and
      constants. `onConflict` knows such an index by its columns.
    """

    columns: list[ColumnName] = Field(min_length=1)
    unique: bool = False
    where: BareField | None = Field(default=None, exclude=True)  # see `write`

    @property
    def reads(self) -> frozenset[str]:
        """The columns that the index requires."""
        where = names_in(self.where.node) if isinstance(self.where, Expression) else ()
        return frozenset({*self.columns, *where})

    def __eq__(self, other: object) -> bool:
        """Compare two indexes by their content, without their positions."""
        return isinstance(other, Index) and self._said == other._said

    def __hash__(self) -> int:
        """Return a hash that equal indexes share."""
        return hash(self._said)

    @property
    def _said(self) -> tuple[tuple[str, ...], bool, str | None]:
        return tuple(self.columns), self.unique, self._text

    @property
    def _text(self) -> str | None:
        return self.where.text if isinstance(self.where, Expression) else None

    @model_serializer(mode="wrap")
    def write(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Serialize the condition as its source text."""
        said: dict[str, Any] = handler(self)
        return said if self._text is None else {**said, "where": self._text}


OPERATIONS: Final = ("read", "insert", "update", "delete")
"""The operations of `access`, each with its own condition."""
RULES: Final = frozenset({"access", "scope", "soft_delete"})
"""The keys with rules about rows: queries obey them, and the database does not know them."""


class Access(Model):
    """The access to each row by operation; `write` is short for insert, update and delete."""

    read: BareField | None = None
    write: BareField | None = None
    insert: BareField | None = None
    update: BareField | None = None
    delete: BareField | None = None

    def of(self, operation: str) -> Bare | None:
        """Return the condition of an operation; None without a condition."""
        own: Bare | None = getattr(self, operation)
        return self.write if own is None and operation != "read" else own


class Table(Kind):
    """A table. Its primary key is the column that says `primaryKey`, or the list of that name.

    - The file's name is the table's, in snake_case. Columns are not nullable unless they say so.
    - A column that `references` another makes relations: `author_id` is followed as `author`, and
      from the other side by this table's name, or by `reverse`. Such a column gets an index, unless
      another one begins with it.
    - A key of a column that does nothing is a mistake: a length of a number, bounds that no value
      meets, a default that breaks them.
    - `seed` rows are inserted into every database where no row has their primary key (or, of one
      without it, what it has in a unique column or index); they are never changed or deleted.
    - `access` gives the conditions to read, insert, update and delete a row (`write` is short for
      the last three), over its columns, related rows and `vars.auth`; all must be given, and
      `true` is everybody. `scope` says which rows count, by own columns only. `softDelete` names a
      nullable datetime: `delete` sets it, and what has it set does not count. Every step obeys;
      `bypassAccess` and `unscoped` look past them, each with a reason for each table.
    - A text in a column without `maxLength` or `enum` has at most 10,000 characters (`string`) or
      100,000 (`text`); a longer one is answered with 400 and the column's name. `maxLength` raises
      or lowers that. Rows that are there already stay as they are.
    - A `binary` column takes base64 text. What does not fit its column is answered with 400 and the
      column's name.
    - Publishing makes every change that loses nothing: new tables and columns, changes that all
      rows fit, and a new name with its old one in `renamedFrom`. A change that loses values, or
      that some rows do not fit, is refused and names them; the last good release keeps serving.
    """

    folder: ClassVar[str] = "tables"
    rank: ClassVar[int] = 10
    nests: ClassVar[bool] = False
    segment: ClassVar[str] = r"[a-z][a-z0-9_]*"
    style: ClassVar[str] = "lower-case snake_case"
    skeleton: ClassVar[str] = (
        "description: {sentence}\n\ncolumns:\n"
        "  id: { type: uuid, primaryKey: true, auto: uuid }\n"
        "  name: { type: string, maxLength: 120 }\n"
        "  created_at: { type: datetime, auto: created }\n"
    )

    _computed: dict[str, Column] = PrivateAttr(default_factory=dict)
    description: str | None = None
    renamed_from: ColumnName | None = None
    columns: dict[ColumnName, Column] = Field(min_length=1)
    primary_key: list[ColumnName] | None = Field(default=None, min_length=1)
    indexes: dict[ColumnName, Index] = {}
    checks: dict[ColumnName, BareField] = {}
    access: Access | None = None
    scope: BareField | None = None
    soft_delete: ColumnName | None = None
    seed: list[dict[ColumnName, Plain]] = []

    @property
    def key(self) -> tuple[str, ...]:
        """The primary key's columns, in order; empty when none is declared."""
        if self.primary_key is not None:
            return tuple(self.primary_key)
        return tuple(name for name, column in self.columns.items() if column.primary_key)

    @model_validator(mode="after")
    def part_computed(self) -> Self:
        """Keep computed columns apart: the database does not store them."""
        for name in [name for name, column in self.columns.items() if column.computed is not None]:
            self._computed[name] = self.columns.pop(name)
        return self

    @property
    def computed(self) -> Mapping[str, Column]:
        """The columns that are computed when they are read; `columns` has the others."""
        return self._computed

    @property
    def has_rules(self) -> bool:
        """Whether some of its rows may be hidden from some callers."""
        return not (self.access is None and self.scope is None and self.soft_delete is None)

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return the summary of a resource for lists, beside its description."""
        return f"columns {', '.join(map(str, body.get('columns') or ()))}"
