"""Shapes: the declared fields of an input, a query or path parameters."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, StringConstraints, model_validator
from pydantic import Field as PydanticField
from pydantic.alias_generators import to_snake
from pydantic_core import PydanticCustomError

from bbops.base.diagnostics import did_you_mean, suggest
from bbops.base.model import Model, Plain
from bbops.language.expressions.types import ANY, Type, list_of, map_of, named
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.fields import TEXT_TYPES
from bbops.runtime.values.regex import compile_pattern
from bbops.runtime.values.shapes import compile_shape

TYPES = (
    "string", "text", "integer", "number", "decimal", "boolean", "datetime", "date", "uuid",
    "email", "url", "json",
)  # fmt: skip
USUAL_TYPES = {
    "int": "integer", "int64": "integer", "long": "bigint", "str": "string", "varchar": "string",
    "char": "string", "bool": "boolean", "float": "number", "double": "number", "real": "number",
    "numeric": "decimal", "timestamp": "datetime", "timestamptz": "datetime", "bytes": "binary",
    "blob": "binary", "bytea": "binary", "jsonb": "json", "any": "json", "map": "json",
    "array": "string[]", "uri": "url", "link": "url",
}  # fmt: skip
"""The types of other languages, and their names here."""

_TYPE = re.compile(r"([a-z]+)(\[\])?(\?)?").fullmatch
FieldName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}\??$")]


_LENGTHS = TEXT_TYPES | {"list"}
_NUMBERS = frozenset({"integer", "number"})
_RULES = {
    "minLength": _LENGTHS, "maxLength": _LENGTHS,
    "minimum": _NUMBERS | {"decimal"}, "maximum": _NUMBERS | {"decimal"},
    "pattern": TEXT_TYPES, "enum": TEXT_TYPES | _NUMBERS | {"json"},
}  # fmt: skip


def check_type(written: str) -> str:
    """Return a field's type unchanged, or refuse an unknown type."""
    match = _TYPE(written)
    base = match[1] if match else written
    if base not in TYPES and written.removesuffix("?") not in {"", "list", "object"}:
        hint = _type_hint(base, written.removeprefix(base))
        raise PydanticCustomError(
            "unknown_type", "unknown type '{type}'", {"type": written, "hint": hint}
        )
    return written


def _type_hint(base: str, end: str) -> str:
    usual = USUAL_TYPES.get(base.lower())
    if usual:
        return did_you_mean(f"{base}{end}", f"{usual}{end}")
    whole = [f"{type_}{end}" for type_ in TYPES]
    return suggest(f"{base}{end}", whole) or "one of: " + ", ".join(TYPES)


def check_pattern(pattern: str) -> str:
    """Return a regular expression unchanged, or refuse it if it is not RE2."""
    try:
        compile_pattern(pattern)
    except FlowError as problem:
        raise PydanticCustomError(
            "bad_pattern",
            "{problem}",
            {"problem": problem.message, "hint": "patterns are RE2: no look-around"},
        ) from None
    return pattern


class Field(Model):
    """One field: `string`, `uuid?`, `integer[]`, or the long form.

    - `{ like: tickets.state }` has the type of that column, whether it may be null, its `enum` and
      bounds. Other keys beside it may be stricter, never looser.
    """

    type: Annotated[str, AfterValidator(check_type)] = ""
    like: (
        Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}\.[a-z][a-z0-9_]{0,62}$")]
        | None
    ) = None
    min_length: Annotated[int, PydanticField(ge=0)] | None = None
    max_length: Annotated[int, PydanticField(ge=0)] | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    pattern: Annotated[str, AfterValidator(check_pattern)] | None = None
    enum: list[str | int | float] | None = PydanticField(default=None, min_length=1)
    items: Field | None = None
    fields: dict[FieldName, Field] | None = None
    default: Plain = None
    description: str | None = None

    @model_validator(mode="before")
    @classmethod
    def read_short_form(cls, data: Any) -> Any:
        """Read `string[]?` as its long form."""
        if isinstance(data, str):
            return {"type": data}
        return data

    @model_validator(mode="after")
    def check_parts(self) -> Field:
        """Refuse parts and rules that do not fit the type, and a default that breaks them."""
        base, many, _ = self.parts
        if self.like is not None:
            for key in ("type", "items", "fields"):
                if key in self.model_fields_set:
                    message = "'{key}' cannot be combined with 'like', which says the type"
                    raise PydanticCustomError("field", message, {"key": key})
            self.check_bounds()
            return self  # the rest is known with the column
        for name, key, inner in (("list", "items", self.items), ("object", "fields", self.fields)):
            if (base == name) != (inner is not None) or (many and base == name):
                hint = "a list of texts is 'string[]'" if key == "items" else "'json' takes any map"
                message = "'{key}' is only allowed with type {name}"
                raise PydanticCustomError(
                    "field", message, {"key": key, "name": name, "hint": hint}
                )
        for rule, types in _RULES.items():
            fits = base in types or (many and rule.endswith("Length"))
            if getattr(self, to_snake(rule)) is not None and not fits:
                raise PydanticCustomError(
                    "field", "'{rule}' does not fit type {base}", {"rule": rule, "base": base}
                )
        self.check_bounds()
        self.check_options(base)
        self.check_default()
        return self

    def check_bounds(self) -> None:
        for rule, least, most in (
            ("Length", self.min_length, self.max_length), ("imum", self.minimum, self.maximum),
        ):  # fmt: skip
            if least is not None and most is not None and least > most:
                message = "'min{rule}' is greater than 'max{rule}', so no value is valid"
                raise PydanticCustomError("field", message, {"rule": rule})

    def check_options(self, base: str) -> None:
        wanted = {"integer": (int,), "number": (int, float)}.get(base, (str,))
        for value in self.enum or () if base in TEXT_TYPES | _NUMBERS else ():
            if type(value) not in wanted:
                message = "'{value}' in 'enum' does not fit type {base}"
                raise PydanticCustomError("field", message, {"value": value, "base": base})

    def check_default(self) -> None:
        errors: dict[str, list[str]] = {}
        if self.default is not None:
            check = compile_shape({"default": self.spec(optional=True)})
            check({"default": self.default}, "", errors)
        for texts in errors.values():
            raise PydanticCustomError("default", "the default {text}", {"text": texts[0]})

    @property
    def parts(self) -> tuple[str, bool, bool]:
        """The base type, whether it is a list, and whether null is allowed."""
        if not self.type:
            base = "list" if self.items is not None else "json"
            base = "object" if self.fields is not None else base
            return base, False, False
        match = _TYPE(self.type)
        if match is None:
            return self.type, False, False
        return match[1], match[2] is not None, match[3] is not None

    def spec(self, *, optional: bool) -> dict[str, Any]:
        """Return the plain form that `bbops.runtime.values.shapes` compiles."""
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

    def value_type(self, *, optional: bool, given: bool = False) -> Type:
        """Return the type in expressions; with `given` the type of a call's argument."""
        base, many, nullable = self.parts
        if base == "list":
            found = list_of(
                self.items.value_type(optional=False, given=given) if self.items else ANY
            )
        elif base == "object":
            found = Type("map")
            if self.fields:
                found = map_of(shape_types(self.fields, given=given))
        else:
            found = named(base, self.enum or ())
        found = list_of(found) if many else found
        found = found.or_null() if nullable else found
        has_default = self.default is not None
        is_absent = optional or has_default if given else optional and not has_default
        return found.or_absent() if is_absent else found


Shape = dict[FieldName, Field]
"""A map of fields; `name?` is optional."""


def shape_spec(shape: Shape) -> dict[str, Any]:
    """Return the plain form of a whole shape."""
    return {
        name.rstrip("?"): field.spec(optional=name.endswith("?")) for name, field in shape.items()
    }


def shape_types(shape: Shape, *, given: bool = False) -> dict[str, Type]:
    """Return each field's type by its name; with `given` as the type of a call's argument."""
    return {
        name.rstrip("?"): field.value_type(optional=name.endswith("?"), given=given)
        for name, field in shape.items()
    }
