"""Vendors' own descriptions of their APIs: every request is judged by them, with jsonschema.

They are data that is not ours, so they lie beside the repository: `../shared/vendor-apis`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

from jsonschema import Draft202012Validator

from tests.conftest import ROOT
from tests.vendors.stand_in import Request

FOLDER = ROOT.parent / "shared/vendor-apis"
FILES: Mapping[str, tuple[str, ...]] = {
    "aiModel": ("openai",), "chatModel": ("anthropic",), "chatWebhook": ("discord",),
    "codeHosting": ("github",), "crm": ("hubspot_contacts_2026-03", "hubspot_deals"),
    "email": ("sendgrid",), "issueTracker": ("jira",), "payments": ("stripe",),
    "sms": ("twilio",), "teamChat": ("slack",), "workspaceDocs": ("notion",),
}  # fmt: skip
WITHOUT: Mapping[str, str] = {
    "backendService": "PostgREST describes each database itself",
    "store": "the vendor publishes no description of its REST API",
    "htmlToPdf": "it has no vendor", "localStorage": "it has no vendor",
    "identityToken": "the vendor publishes no OpenAPI description",
    "imageProcessing": "it has no vendor",
    "objectStorage": "no description of S3 is stored; moto checks requests and signatures",
    "smtpMail": "SMTP is not described by OpenAPI",
}  # fmt: skip
"""Addons without a description, and why."""

RENAMED = {"/crm/objects/2026-03/deals": "/crm/v3/objects/0-3"}
"""The paths of operations that the stored description has under an older version."""

WRONG: Mapping[str, tuple[str, str]] = {
    "email.sendTemplateEmail": (
        "is a required property",
        "it requires subject and content, which a template has",
    ),
    "crm.searchContacts": (
        "is a required property",
        "it requires 'after' and 'sorts', which are optional",
    ),
    "workspaceDocs.createPage": ("parent", "it lacks the parent 'data_source_id'"),
}
"""Steps with which a description is known to disagree: a word of what it says, and why."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a description."""

    document: Mapping[str, Any]
    path: str
    told: Mapping[str, Any]
    shared: tuple[Any, ...]

    def mistakes(self, request: Request) -> Iterator[str]:
        """Yield what the description says against a request."""
        yield from self._body(request)
        given: dict[str, Any] = dict(request.query)
        for one in map(self.resolved, (*self.shared, *self.told.get("parameters", ()))):
            if one["in"] != "query":
                continue
            if one["name"] not in given:
                if one.get("required"):
                    yield f"query: '{one['name']}' is a required property"
                continue
            schema = one.get("schema", {"type": one.get("type", "string")})
            value = self._read(given[one["name"]], schema)
            yield from (f"query {one['name']}: {text}" for text in self._judge(value, schema))
        known = {one["name"] for one in map(self.resolved, self.told.get("parameters", ()))}
        yield from (f"query: unknown '{name}'" for name in given if name not in known)

    def _body(self, request: Request) -> Iterator[str]:
        content = self._content()
        if request.body is None:
            if content and self.told.get("requestBody", {}).get("required"):
                yield "a body is a required property"
            return
        schema = content.get(request.type)
        if schema is None:
            yield f"type '{request.type}' is none of {sorted(content)}"
            return
        body = request.body
        if isinstance(body, list) and request.type.endswith("urlencoded"):
            body = self._read(nested(body), schema)
        yield from self._judge(body, schema)

    def _content(self) -> dict[str, Any]:
        if "swagger" in self.document:
            forms = [one for one in self.told["parameters"] if one["in"] in {"formData", "query"}]
            schema = {
                "type": "object", "required": [one["name"] for one in forms if one.get("required")],
                "properties": {one["name"]: _loose(one) for one in forms},
            }  # fmt: skip
            return dict.fromkeys(("application/json", "application/x-www-form-urlencoded"), schema)
        body = self.resolved(self.told.get("requestBody", {}))
        return {kind: one.get("schema", {}) for kind, one in body.get("content", {}).items()}

    def resolved(self, part: Any) -> Any:
        """Return what a reference stands for."""
        while isinstance(part, Mapping) and "$ref" in part:
            path, part = part["$ref"].removeprefix("#/").split("/"), self.document
            for name in path:
                part = part[unquote(name).replace("~1", "/").replace("~0", "~")]
        return part

    def _judge(self, value: Any, schema: Any) -> Iterator[str]:
        root = {**self.document, "allOf": [schema]}
        for error in Draft202012Validator(_plain(root)).iter_errors(value):
            at = "/".join(map(str, error.absolute_path))
            yield f"{at}: {error.message}"[:300]

    def _read(self, value: Any, schema: Any) -> Any:
        """Return texts of a form or a query as the numbers and booleans that they stand for."""
        schema = self.resolved(schema)
        if isinstance(value, dict):
            ways = [schema, *map(self.resolved, schema.get("anyOf", ()))]
            known = next((one["properties"] for one in ways if "properties" in one), {})
            return {name: self._read(one, known.get(name, {})) for name, one in value.items()}
        if isinstance(value, list):
            return [self._read(one, schema.get("items", {})) for one in value]
        if schema.get("type") in {"integer", "number"} and re.fullmatch(r"-?\d+", value):
            return int(value)
        if schema.get("type") == "array":
            return value.split(",")
        return value == "true" if schema.get("type") == "boolean" else value


def find(addon: str, request: Request) -> Operation | None:
    """Return the operation that a request of an addon is."""
    path = RENAMED.get(request.path, request.path)
    for name in FILES[addon]:
        document = read(name)
        base = urlsplit((document.get("servers") or [{"url": "/api"}])[0]["url"]).path.rstrip("/")
        for template, methods in document["paths"].items():
            whole = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
            is_it = re.fullmatch(f"({re.escape(base)})?{whole}", path)
            if is_it and request.method.lower() in methods:
                told = methods[request.method.lower()]
                return Operation(document, template, told, tuple(methods.get("parameters", ())))
    return None


@cache
def read(name: str) -> Mapping[str, Any]:
    """Return a description."""
    file = FOLDER / f"{name}.json"
    assert file.is_file(), (
        f"{file} is missing: descriptions of vendors' APIs lie beside the repository, "
        "in ../shared/vendor-apis"
    )
    found: Mapping[str, Any] = json.loads(file.read_text())
    return found


def nested(pairs: list[Any]) -> dict[str, Any]:
    """Return the fields of a form by their names, `items[0][price]` as lists and maps."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        first, *rest = re.findall(r"[^\[\]]+", name)
        at, key = found, first
        for part in rest:
            at = at.setdefault(key, {})
            key = part
        at[key] = value
    return {name: _lists(one) for name, one in found.items()}


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {name: _lists(one) for name, one in value.items()}
    return [*inner.values()] if inner and all(name.isdigit() for name in inner) else inner


def _loose(one: Mapping[str, Any]) -> dict[str, Any]:
    """A parameter of Swagger 2; what is JSON in a form is a list in JSON."""
    return {"type": ["array", "object", "string"] if one["type"] == "string" else one["type"]}


def _plain(part: Any) -> Any:
    """Return a schema of OpenAPI 3.0 as JSON Schema has it."""
    if isinstance(part, list):
        return [_plain(one) for one in part]
    if not isinstance(part, dict):
        return part
    found = {name: _plain(one) for name, one in part.items()}
    if found.pop("nullable", False) is True:
        return {"anyOf": [found, {"type": "null"}]}
    for name in ("exclusiveMinimum", "exclusiveMaximum"):
        if isinstance(found.get(name), bool):
            del found[name]
    return found
