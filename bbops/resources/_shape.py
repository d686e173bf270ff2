"""Shapes: what an input, a query or path parameters must look like."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import Field as PydanticField
from pydantic import StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from bbops.diagnostics import suggest
from bbops.expressions.types import ANY, Type, list_of, map_of, named
from bbops.model import Model, Plain
from bbops.runtime.failures import FlowError
from bbops.runtime.patterns import compile_pattern

TYPES = (
    "string", "text", "integer", "number", "boolean", "datetime", "date", "uuid", "email", "url",
    "json",
)  # fmt: skip
_TYPE = re.compile(r"([a-z]+)(\[\])?(\?)?").fullmatch
FieldName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}\??$")]


class Field(Model):
    """One field: `string`, `uuid?`, `integer[]`, or the long form."""

    type: str = ""
    min_length: Annotated[int, PydanticField(ge=0)] | None = None
    max_length: Annotated[int, PydanticField(ge=0)] | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    pattern: str | None = None
    enum: list[str | int | float] | None = PydanticField(default=None, min_length=1)
    items: Field | None = None
    fields: dict[FieldName, Field] | None = None
    default: Plain = None
    description: str | None = None

    @model_validator(mode="before")
    @classmethod
    def read_short_form(cls, data: Any) -> Any:
        """Read `string[]?` as the long form does."""
        if isinstance(data, str):
            return {"type": data}
        return data

    @model_validator(mode="after")
    def check_type(self) -> Field:
        """Refuse unknown types, and rules that their type does not have."""
        base, _, _ = self.parts
        if base not in {*TYPES, "list", "object"}:
            raise PydanticCustomError(
                "unknown_type", "unknown type '{type}'",
                {"type": self.type, "hint": suggest(base, TYPES) or "one of: " + ", ".join(TYPES)},
            )  # fmt: skip
        if self.pattern is not None:
            self.check_pattern(self.pattern)
        return self

    def check_pattern(self, pattern: str) -> None:
        try:
            compile_pattern(pattern)
        except FlowError as problem:
            raise PydanticCustomError(
                "bad_pattern",
                "{problem}",
                {"problem": problem.message, "hint": "patterns are RE2: no look-around"},
            ) from None

    @property
    def parts(self) -> tuple[str, bool, bool]:
        """The base type, whether it is a list of it, and whether null is allowed."""
        if not self.type:
            base = "list" if self.items else "object" if self.fields is not None else "json"
            return base, False, False
        match = _TYPE(self.type)
        if match is None:
            return self.type, False, False
        return match[1], match[2] is not None, match[3] is not None

    def spec(self, *, optional: bool) -> dict[str, Any]:
        """Return the plain form that `bbops.runtime.shapes` compiles."""
        base, many, nullable = self.parts
        found: dict[str, Any] = {"type": base, "nullable": nullable, "optional": optional}
        rules: dict[str, Any] = {
            "minLength": self.min_length, "maxLength": self.max_length, "minimum": self.minimum,
            "maximum": self.maximum, "pattern": self.pattern, "enum": self.enum,
        }  # fmt: skip
        given = {name: rule for name, rule in rules.items() if rule is not None}
        if many:
            of_list: dict[str, Any] = {
                rule: given.pop(rule) for rule in ("minLength", "maxLength") if rule in given
            }
            item = {"type": base, "nullable": False, "optional": False, **given}
            found |= {"type": "list", "items": item}
            found |= of_list
        else:
            found.update(given)
        if self.items is not None:
            found["items"] = self.items.spec(optional=False)
        if self.fields is not None:
            found["fields"] = shape_spec(self.fields)
        if self.default is not None:
            found["default"] = self.default
        return found

    def value_type(self, *, optional: bool) -> Type:
        """Return the type an expression sees."""
        base, many, nullable = self.parts
        if base == "list":
            found = list_of(self.items.value_type(optional=False) if self.items else ANY)
        elif base == "object":
            found = map_of(shape_types(self.fields or {})) if self.fields else Type("map")
        else:
            found = named(base)
        found = list_of(found) if many else found
        return found.or_null() if nullable or (optional and self.default is None) else found


Shape = dict[FieldName, Field]
"""A map of names; `name?` may be left out."""


def shape_spec(shape: Shape) -> dict[str, Any]:
    """Return the plain form of a whole shape."""
    return {
        name.rstrip("?"): field.spec(optional=name.endswith("?")) for name, field in shape.items()
    }


def shape_types(shape: Shape) -> dict[str, Type]:
    """Return each field's type by its name."""
    return {
        name.rstrip("?"): field.value_type(optional=name.endswith("?"))
        for name, field in shape.items()
    }
