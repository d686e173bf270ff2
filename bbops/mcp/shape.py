"""The JSON Schema of a struct as agents read it: whole, in one piece, and no longer than needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

_DEFINED = "#/$defs/"
_EMPTY: tuple[Any, ...] = ([], {}, None, "")

Schema = dict[str, Any]


def describe(struct: type[msgspec.Struct]) -> Schema:
    """Return the schema of a struct without titles and references; it holds none of itself."""
    schema = msgspec.json.schema(struct)
    return _shorten(schema, schema.get("$defs", {}))


def _shorten(schema: Mapping[str, Any], defined: Mapping[str, Any]) -> Schema:
    if "$ref" in schema:
        more = {name: value for name, value in schema.items() if name not in {"$ref", "$defs"}}
        return _shorten(defined[schema["$ref"].removeprefix(_DEFINED)], defined) | more
    found = {
        name: _keep(name, value, defined) for name, value in schema.items() if _says(name, value)
    }
    if "title" in schema:  # a struct: its docstring is for readers of the code
        found.pop("description", None)
    return found


def _says(name: str, value: Any) -> bool:
    """Return whether a keyword tells an agent anything."""
    if name in {"title", "$defs"}:
        return False
    return not (name in {"default", "required"} and value in _EMPTY)


def _keep(name: str, value: Any, defined: Mapping[str, Any]) -> Any:
    if name == "properties":
        return {field: _shorten(one, defined) for field, one in value.items()}
    if isinstance(value, Mapping) and name in {"items", "additionalProperties"}:
        return _shorten(value, defined)
    if name in {"anyOf", "prefixItems"}:
        return [_shorten(one, defined) for one in value]
    return value
