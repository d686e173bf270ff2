"""The statement of `sql` for each database, and the types of its columns."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from bbops.base.diagnostics import suggest
from bbops.base.model import Model
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import Type, map_of, named, type_of_constant
from bbops.language.expressions.values import Constant, Expression, Template, Value
from bbops.language.sql.dialect import Dialect
from bbops.language.sql.own import OwnStatement
from bbops.language.steps._base import Static, read_static

_TYPES: Final = (
    "string", "text", "integer", "bigint", "number", "decimal", "boolean", "datetime", "date",
    "time", "uuid", "json", "binary",
)  # fmt: skip
_TYPE: Final = re.compile(r"([a-z]+)\??").fullmatch


class OwnTexts(Model):
    """A statement for each database; the short form is one text for both."""

    short_form: ClassVar[str] = "one text for both databases"

    sqlite: Static
    postgres: Static

    @model_validator(mode="before")
    @classmethod
    def read_one_text(cls, data: Any) -> Any:
        """Read a text as the statement of both databases."""
        if not isinstance(data, str):
            return data
        text = read_static(data)
        return {"sqlite": text, "postgres": text}

    @property
    def every(self) -> dict[str, Static]:
        """The texts by the names of databases; one text for both appears once."""
        both = {"sqlite": self.sqlite, "postgres": self.postgres}
        return {"": self.sqlite} if self.sqlite == self.postgres else both


def check_column_type(written: str) -> str:
    """Return the type of a statement's column, or refuse an unknown type."""
    match = _TYPE(written)
    if match is None or match[1] not in _TYPES:
        hint = suggest(written.rstrip("?"), _TYPES) or "one of: " + ", ".join(_TYPES)
        raise PydanticCustomError(
            "unknown_type", "unknown type '{type}'", {"type": written, "hint": hint}
        )
    return written


OwnColumnTypes = dict[
    Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}$")],
    Annotated[str, AfterValidator(check_column_type)],
]
"""Columns of a statement with their types; `decimal?` may be null."""


def row_of(columns: OwnColumnTypes, *, private: bool) -> Type:
    """Return the type of a row with these columns."""
    found = {}
    for name, written in columns.items():
        of = named(written.rstrip("?"))
        of = of.or_null() if written.endswith("?") else of
        found[str(name)] = replace(of, private=True) if private else of
    return map_of(found, "the row")


def kind_of(value: Value, scope: Scope) -> str:
    """Return the kind of a value that was checked."""
    match value:
        case Constant():
            return type_of_constant(value.value).kind
        case Expression():
            return scope.type_of(value.node).kind
        case Template():
            return "text"
        case _:
            return ""


def cast(own: OwnStatement, kinds: dict[str, str], dialect: Dialect) -> OwnStatement:
    """Return a statement whose parameters have the types of their values.

    Args:
        kinds: the kinds of the values, by the names of parameters.
    """
    first, *rest = own.pieces
    pieces = [first]
    for name, is_alone, piece in zip(own.names, own.alone, rest, strict=True):
        kind = kinds.get(name, "")
        found = dialect.casts.get(kind) or (dialect.alone.get(kind, "") if is_alone else "")
        pieces.append(piece if piece.startswith("::") else f"{found}{piece}")
    return replace(own, pieces=tuple(pieces))
