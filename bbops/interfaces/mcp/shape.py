"""The JSON Schema of a struct as agents read it: whole, in one piece, and no longer than needed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

_DEFINED = "#/$defs/"
_EMPTY: tuple[Any, ...] = ([], {}, None, "")
_AT: Final = re.compile(r" - at `\$([^`]*)`$")
_PART: Final = re.compile(r"\.([^.\[]+)|\[")

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


# ---- what a wrong value should have been


def find_wanted(schema: Schema, complaint: str) -> str:
    """Return what may stand at the place that msgspec complains of: options, or names."""
    place = _AT.search(complaint)
    for name in _PART.findall(place[1]) if place else ():
        inner = schema.get("properties", {}).get(name) if name else schema.get("items")
        if inner is None:
            return ""
        schema = inner
    if "enum" in schema:
        return f"one of: {', '.join(map(str, schema['enum']))}"
    if schema.get("type") != "object":
        return ""
    needed, names = schema.get("required", []), [*schema.get("properties", {})]
    more = [name for name in names if name not in needed]
    parts = [f"needs {', '.join(needed)}"] if needed else []
    parts += [f"may have {', '.join(more)}"] if more else []
    return f"it {' and '.join(parts)}" if parts else "it takes no arguments"
