"""The JSON Schema of a struct for agents: without references and needless keywords."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

_DEFINITIONS = "#/$defs/"
_EMPTY: tuple[Any, ...] = ([], {}, None, "")
_PATH: Final = re.compile(r" - at `\$([^`]*)`$")
_PART: Final = re.compile(r"\.([^.\[]+)|\[")

Schema = dict[str, Any]


def describe(struct: type[msgspec.Struct]) -> Schema:
    """Return the schema of a struct without titles and references; it must not be recursive."""
    schema = msgspec.json.schema(struct)
    return _shorten(schema, schema.get("$defs", {}))


def _shorten(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    if "$ref" in schema:
        more = {name: value for name, value in schema.items() if name not in {"$ref", "$defs"}}
        return _shorten(definitions[schema["$ref"].removeprefix(_DEFINITIONS)], definitions) | more
    shortened = {
        name: _shorten_value(name, value, definitions)
        for name, value in schema.items()
        if _is_useful(name, value)
    }
    if "title" in shortened or "title" in schema:  # a struct: its docstring is for developers
        shortened.pop("description", None)
    return shortened


def _is_useful(name: str, value: Any) -> bool:
    """Return whether a keyword is useful for an agent."""
    if name in {"title", "$defs"}:
        return False
    return not (name in {"default", "required"} and value in _EMPTY)


def _shorten_value(name: str, value: Any, definitions: Mapping[str, Any]) -> Any:
    if name == "properties":
        return {field: _shorten(item, definitions) for field, item in value.items()}
    if isinstance(value, Mapping) and name in {"items", "additionalProperties"}:
        return _shorten(value, definitions)
    if name in {"anyOf", "prefixItems"}:
        return [_shorten(item, definitions) for item in value]
    return value


# ---- the expected value in place of a wrong one


def describe_expected(schema: Schema, message: str) -> str:
    """Return the allowed options or names at the path in a message of msgspec."""
    path = _PATH.search(message)
    for name in _PART.findall(path[1]) if path else ():
        inner = schema.get("properties", {}).get(name) if name else schema.get("items")
        if inner is None:
            return ""
        schema = inner
    if "enum" in schema:
        return f"one of: {', '.join(map(str, schema['enum']))}"
    if schema.get("type") != "object":
        return ""
    required, names = schema.get("required", []), [*schema.get("properties", {})]
    optional = [name for name in names if name not in required]
    parts = [f"needs {', '.join(required)}"] if required else []
    parts += [f"may have {', '.join(optional)}"] if optional else []
    return f"it {' and '.join(parts)}" if parts else "it takes no arguments"
