"""Schemas of JSON as fields of the language: as far as the language can say them, else `json`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bbops.edit.importing.document import Document, Refused

DEEPEST: Final = 5
MOST_PARTS: Final = 400
"""Parts of one type; what is deepest becomes `json` first."""
MOST_VISITS: Final = 20_000
"""Schemas that are looked at for one step; the rest is `json`."""
MOST_OPTIONS: Final = 60
MOST_OPTION: Final = 200

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}").fullmatch
_DATES: Final = {"date-time": "datetime", "date": "date"}
_TEXTS: Final = {**_DATES, "uuid": "uuid", "email": "email"}
_LENGTHS: Final = ("minLength", "maxLength")
_LIMITS: Final = ("minimum", "maximum")
_MOST_NUMBER: Final = 2**53
_JSON: Final = "json"

Field = Any
"""A field as the language writes it: a word such as `string?`, or a map of its rules."""


@dataclass(slots=True)
class Reader:
    """Reads the schemas of one step.

    Attributes:
        sends: what is read is sent: rules are kept, and what only answers have is left out.
    """

    document: Document
    sends: bool
    visits: int = 0

    def field(self, schema: Any, depth: int = 0, seen: tuple[str, ...] = ()) -> Field:
        """Return a schema as a field.

        Raises:
            Refused: a reference leads out of the document, in a circle, or nowhere.
        """
        self.visits += 1
        if self.visits > MOST_VISITS or depth > DEEPEST + 2:
            return _JSON
        schema, reference = self.document.follow(schema)
        if reference and reference in seen:
            return _JSON  # the same again below itself
        seen = (*seen, reference) if reference else seen
        if not isinstance(schema, Mapping):
            return _JSON
        for word in ("oneOf", "anyOf"):
            if isinstance(schema.get(word), list):
                return self._either(schema[word], depth, seen, nullable=_may_be_null(schema))
        if isinstance(schema.get("allOf"), list):
            schema = self.merged(schema)
        kind, nullable = _kind(schema)
        found = self._plain(schema, kind, depth, seen)
        return optional(found) if nullable else found

    def _either(
        self, options: list[Any], depth: int, seen: tuple[str, ...], *, nullable: bool
    ) -> Field:
        """Return the field that all alternatives are; null is one that makes it nullable."""
        kept = []
        for one in options[:8]:
            inner, _ = self.document.follow(one)
            if isinstance(inner, Mapping) and inner.get("type") == "null":
                nullable = True
            else:
                kept.append(one)
        if len(options) > len(options[:8]) or not kept:
            return _JSON
        found = [self.field(one, depth if len(kept) == 1 else depth + 1, seen) for one in kept]
        kinds = {json.dumps(one, sort_keys=True) for one in found}
        if len(kinds) > 1:
            return self._loose(found, nullable=nullable)
        return optional(found[0]) if nullable else found[0]

    def _loose(self, found: list[Field], *, nullable: bool) -> Field:
        """Return the type of texts that differ in their rules; else `json`."""
        types = {one if isinstance(one, str) else one.get("type", "object") for one in found}
        nullable = nullable or any(one.endswith("?") for one in types)
        bare = {one.rstrip("?") for one in types}
        if bare <= {"string", "uuid", "email"}:
            return "string?" if nullable else "string"
        return _JSON

    def _plain(self, schema: Mapping[str, Any], kind: Any, depth: int, seen: Any) -> Field:
        if kind == "string":
            return self._text(schema)
        if kind in {"integer", "number"}:
            rules = _numbers(schema, _LIMITS) if self.sends else {}
            if rules.get("minimum", 0) > rules.get("maximum", _MOST_NUMBER):
                rules = {}
            return {"type": kind, **rules} if rules else kind
        if kind == "boolean":
            return "boolean"
        if depth >= DEEPEST:
            return _JSON
        if kind == "array":
            item = self.field(schema.get("items", True), depth + 1, seen)
            if isinstance(item, str) and not item.endswith(("?", "[]")) and item != _JSON:
                return f"{item}[]"
            return {"type": "list", "items": item}
        if kind == "object" and isinstance(schema.get("properties"), Mapping):
            fields = self.shape(schema, depth + 1, seen)
            return {"type": "object", "fields": fields} if fields else _JSON
        return _JSON

    def _text(self, schema: Mapping[str, Any]) -> Field:
        kind = (_TEXTS if self.sends else _DATES).get(str(schema.get("format", "")), "string")
        if not self.sends:
            return kind
        rules: dict[str, Any] = _numbers(schema, _LENGTHS) if kind == "string" else {}
        if rules.get("minLength", 0) > rules.get("maxLength", _MOST_NUMBER):
            rules = {}
        options = [one for one in _options(schema) if isinstance(one, str)]
        is_short = all(len(one) <= MOST_OPTION and one.isprintable() for one in options)
        if 0 < len(options) <= MOST_OPTIONS and is_short and kind == "string":
            rules = {"enum": options}
        return {"type": kind, **rules} if rules else kind

    def shape(
        self, schema: Mapping[str, Any], depth: int = 0, seen: tuple[str, ...] = ()
    ) -> dict[str, Field] | None:
        """Return the fields of a map; None where one that must be sent has no name of ours."""
        needed = {one for one in schema.get("required") or () if isinstance(one, str)}
        found: dict[str, Field] = {}
        for name, one in self.properties(schema):
            if NAME(name):
                found[name if name in needed else f"{name}?"] = self.field(one, depth, seen)
            elif self.sends:
                return None
        return found

    def properties(self, schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the properties that are sent, or that are answered."""
        unwanted = "readOnly" if self.sends else "writeOnly"
        listed = schema.get("properties")
        for name, one in listed.items() if isinstance(listed, Mapping) else ():
            inner, _ = self.document.follow(one)
            if not (isinstance(inner, Mapping) and inner.get(unwanted) is True):
                yield str(name), one

    def merged(self, schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
        """Return a schema with what `allOf` adds to it.

        Raises:
            Refused: they are nested too deeply, or in a circle.
        """
        if depth > DEEPEST * 2:
            raise Refused("'allOf' is nested too deeply, or refers to itself in a circle")
        found = {name: one for name, one in schema.items() if name != "allOf"}
        properties = dict(schema.get("properties") or {})
        required = [*(schema.get("required") or ())]
        parts = schema.get("allOf")
        for one in parts[:50] if isinstance(parts, list) else ():
            part, _ = self.document.follow(one)
            if not isinstance(part, Mapping):
                continue
            inner = self.merged(part, depth + 1) if "allOf" in part else part
            more = inner.get("properties")
            properties |= more if isinstance(more, Mapping) else {}
            required += [*(inner.get("required") or ())]
            for key, value in inner.items():
                if key not in {"properties", "required", "allOf"}:
                    found.setdefault(key, value)
        return {**found, "properties": properties, "required": required}


def _kind(schema: Mapping[str, Any]) -> tuple[Any, bool]:
    """Return the type that a schema names, and whether null is one."""
    kind, nullable = schema.get("type"), _may_be_null(schema)
    if isinstance(kind, list):
        kinds = [one for one in kind if one != "null"]
        kind = kinds[0] if len(kinds) == 1 else None
        if set(kinds) == {"integer", "number"}:
            kind = "number"
    if kind is None and "type" not in schema:
        kind = "object" if schema.get("properties") else "array" if "items" in schema else None
        options = _options(schema)
        if kind is None and options and all(isinstance(one, str) for one in options):
            kind = "string"
    return kind, nullable


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    is_listed = isinstance(kind, list) and "null" in kind
    return is_listed or schema.get("nullable") is True or None in _options(schema)


def _options(schema: Mapping[str, Any]) -> list[Any]:
    if "const" in schema:
        return [schema["const"]]
    listed = schema.get("enum")
    return listed if isinstance(listed, list) else []


def _numbers(schema: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return rules that are numbers which our language takes."""
    is_length = names is _LENGTHS
    found = {}
    for name in names:
        value: Any = schema.get(name)
        is_number = type(value) is int or (type(value) is float and not is_length)
        if is_number and abs(value) <= _MOST_NUMBER and not (is_length and value < 0):
            found[name] = value
    return found


def optional(field: Field) -> Field:
    """Return a field that may be null."""
    if isinstance(field, str):
        return field if field.endswith("?") or field == _JSON else f"{field}?"
    return {**field, "type": f"{field['type'].rstrip('?')}?"}


def size(field: Field) -> int:
    """Return how many parts a field has."""
    if not isinstance(field, dict):
        return 1
    inner = sum(size(one) for one in field.get("fields", {}).values())
    return 1 + inner + (size(field["items"]) if "items" in field else 0)


def bounded(field: Field, most: int = MOST_PARTS) -> Field:
    """Return a field of at most so many parts: the deepest ones become `json`. O(parts)."""
    for depth in range(DEEPEST + 3, 0, -1):
        if size(field) <= most:
            return field
        field = _cut(field, depth)
    return field if size(field) <= most else _JSON


def _cut(field: Field, depth: int) -> Field:
    if not isinstance(field, dict) or not ("fields" in field or "items" in field):
        return field
    if depth <= 0:
        return _JSON
    found = dict(field)
    if "fields" in field:
        found["fields"] = {name: _cut(one, depth - 1) for name, one in field["fields"].items()}
    if "items" in field:
        found["items"] = _cut(field["items"], depth - 1)
    return found
