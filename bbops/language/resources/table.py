"""table: columns, keys and rules of one table; the file's name is the table's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints

from bbops.base.model import Model, Plain
from bbops.base.names import ColumnName
from bbops.language.expressions.values import BareField
from bbops.language.resources._kind import Kind

ColumnType = Literal[
    "string", "text", "integer", "bigint", "number", "decimal", "boolean",
    "datetime", "date", "time", "uuid", "json", "binary",
]  # fmt: skip
Reference = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}\.[a-z][a-z0-9_]{0,62}$")
]


class Column(Model):
    """One column. Nothing is nullable unless it says so."""

    type: ColumnType
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


class Index(Model):
    """An index over one or more columns, in that order."""

    columns: list[ColumnName] = Field(min_length=1)
    unique: bool = False


class Table(Kind):
    """A table. Its primary key is the column that says `primaryKey`, or the list of that name.

    - The file's name is the table's, in snake_case. Columns are not nullable unless they say so.
    - A column that `references` another makes relations: `author_id` is followed as `author`, and
      from the other side by this table's name, or by `reverse`.
    - A key of a column that does nothing is a mistake: a length of a number, bounds that no value
      meets, a default that breaks them.
    - `seed` rows are inserted into every database where no row has their primary key (or, of one
      without it, what it has in a unique column or index); they are never changed or deleted.
    - A text in a column without `maxLength` or `enum` has at most 10,000 characters (`string`) or
      100,000 (`text`); a longer one is answered with 400 and the column's name. `maxLength` raises
      or lowers that. Rows that are there already stay as they are.
    - A `binary` column takes base64 text. What does not fit its column is answered with 400 and the
      column's name.
    - Publishing makes every change that loses nothing: what is new, what rows fit in, and a new
      name that says its old one by `renamedFrom`. What would lose values, or what rows stand in
      the way of, is refused and names them; the last good release keeps serving.
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

    description: str | None = None
    renamed_from: ColumnName | None = None
    columns: dict[ColumnName, Column] = Field(min_length=1)
    primary_key: list[ColumnName] | None = Field(default=None, min_length=1)
    indexes: dict[ColumnName, Index] = {}
    checks: dict[ColumnName, BareField] = {}
    seed: list[dict[ColumnName, Plain]] = []

    @property
    def key(self) -> tuple[str, ...]:
        """The primary key's columns, in order; empty when none is declared."""
        if self.primary_key is not None:
            return tuple(self.primary_key)
        return tuple(name for name, column in self.columns.items() if column.primary_key)

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return what a list says of a resource beside its description."""
        return f"columns {', '.join(map(str, body.get('columns') or ()))}"
