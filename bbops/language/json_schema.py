"""Convert shapes and types to JSON Schema 2020-12.

A shape describes requests, a type describes responses: there a datetime is always a text, and a
field that may be absent is not required.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from bbops.base.model import plain
from bbops.language.expressions.types import Type
from bbops.language.shape import Field, Shape

Schema = dict[str, Any]
"""JSON Schema 2020-12."""

_FIELDS: dict[str, Schema] = {
    "string": {"type": "string"}, "text": {"type": "string"},
    "integer": {"type": "integer", "format": "int64"},
    "number": {"type": "number"}, "decimal": {"type": "string", "format": "decimal"},
    "boolean": {"type": "boolean"},
    "datetime": {"type": "string", "format": "date-time"},
    "date": {"type": "string", "format": "date"},
    "uuid": {"type": "string", "format": "uuid"},
    "email": {"type": "string", "format": "email"},
    "url": {"type": "string", "format": "uri"}, "json": {},
}  # fmt: skip
_TYPES: dict[str, Schema] = {
    "any": {}, "null": {"type": "null"}, "text": {"type": "string"},
    "integer": {"type": "integer", "format": "int64"}, "number": {"type": "number"},
    "decimal": {"type": "string", "format": "decimal"}, "boolean": {"type": "boolean"},
    "datetime": {"type": "string", "format": "date-time"},
    "date": {"type": "string", "format": "date"},
    "binary": {"type": "string", "contentEncoding": "base64"},
}  # fmt: skip


def shape_schema(shape: Shape) -> Schema:
    """Return the schema of an object of this shape. Undeclared fields are dropped."""
    found: Schema = {
        "type": "object",
        "properties": {str(name.rstrip("?")): field_schema(field) for name, field in shape.items()},
    }
    required = [
        str(name)
        for name, field in shape.items()
        if not name.endswith("?") and field.default is None
    ]
    return {**found, "required": required} if required else found


def field_schema(field: Field) -> Schema:
    """Return the schema of one field."""
    base, many, nullable = field.parts
    if base == "list":
        found = _list(field_schema(field.items) if field.items else {}, field)
    elif base == "object":
        found = shape_schema(field.fields or {})
    elif many:
        found = _list(_scalar(base, field, has_lengths=False), field)
    else:
        found = _scalar(base, field, has_lengths=True)
    found = or_null(found) if nullable else found
    beside = {"description": plain(field.description), "default": field.default}
    return found | {name: value for name, value in beside.items() if value is not None}


def _list(items: Schema, field: Field) -> Schema:
    lengths = {"minItems": field.min_length, "maxItems": field.max_length}
    return {"type": "array", "items": items} | _given(lengths)


def _scalar(base: str, field: Field, *, has_lengths: bool) -> Schema:
    rules: Schema = {
        "minimum": field.minimum, "maximum": field.maximum,
        "pattern": None if field.pattern is None else str(field.pattern),
        "enum": None if field.enum is None else plain(field.enum),
    }  # fmt: skip
    if has_lengths:
        rules |= {"minLength": field.min_length, "maxLength": field.max_length}
    return {**_FIELDS.get(base, {}), **_given(rules)}


def _given(rules: Schema) -> Schema:
    return {name: value for name, value in rules.items() if value is not None}


def type_schema(of: Type) -> Schema:
    """Return the schema of a sent value of a type."""
    if of.is_never:
        return {}
    if of.kind == "list":
        found: Schema = {"type": "array", "items": type_schema(of.item) if of.item else {}}
    elif of.kind == "map":
        found = _map(of)
    else:
        found = _FIELDS["uuid"] if of.form == "uuid" else _TYPES.get(of.kind, {})
        found = {**found, "enum": list(of.options)} if of.options else dict(found)
    return or_null(found) if of.nullable else found


def _map(of: Type) -> Schema:
    found: Schema = {"type": "object"}
    if of.fields is not None:
        # a field that may be absent reads as null here, but is never sent as null
        found["properties"] = {
            str(name): type_schema(replace(field, nullable=False) if field.absent else field)
            for name, field in of.fields.items()
        }
        required = [str(name) for name, field in of.fields.items() if not field.absent]
        found |= {"required": required} if required else {}
    if of.rest is not None and of.rest.kind != "any":
        found["additionalProperties"] = type_schema(of.rest)
    return found


def or_null(schema: Schema) -> Schema:
    """Return the schema that accepts null as well."""
    given = schema.get("type")
    if not schema or given == "null":
        return schema
    if isinstance(given, str) and "enum" not in schema:
        return {**schema, "type": [given, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def any_of(schemas: Iterable[Schema]) -> Schema:
    """Return the schema of values that fit one of these, without duplicates."""
    schemas = list(schemas)
    if {} in schemas:
        return {}
    unique = {msgspec.json.encode(schema, order="deterministic"): schema for schema in schemas}
    return next(iter(unique.values())) if len(unique) == 1 else {"anyOf": list(unique.values())}
