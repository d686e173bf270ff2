"""Write types, access and requests of a contract as a line of Markdown, for every page about it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

from bbops.language.json_schema import Schema
from bbops.review.contract.contract import (
    SHAPES,
    Answer,
    Contract,
    Example,
    Operation,
    Scheme,
    Topic,
)
from bbops.runtime.values.queries import spread

_RULES: Final = ("minLength", "maxLength", "minimum", "maximum", "pattern", "default")
_JSON: Final = "application/json"


class FieldRow(NamedTuple):
    """A field of an object, or of an object inside it."""

    path: str
    type: str
    is_required: bool
    description: str


def type_text(schema: Schema, anchor: str = "#") -> str:
    """Return the types of a schema as text; a shape is a link to `anchor` and its name."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(SHAPES)
        return f"[{name}]({anchor}{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(type_text(part, anchor) for part in schema["anyOf"]))
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type", "anything")
    kinds = kind if isinstance(kind, list) else [kind]
    return " or ".join(_kind(schema, kind_, anchor) for kind_ in kinds)


def field_rows(schema: Schema, anchor: str = "#", before: str = "") -> Iterator[FieldRow]:
    """Yield the fields of an object, each before its inner ones: `items[].id`."""
    for name, inner in schema.get("properties", {}).items():
        is_required = name in schema.get("required", ())
        about = inner.get("description", "")
        yield FieldRow(before + name, type_text(inner, anchor), is_required, about)
        yield from field_rows(inner, anchor, f"{before}{name}.")
        yield from field_rows(inner.get("items", {}), anchor, f"{before}{name}[].")


def access_text(contract: Contract, operation: Operation) -> str:
    """Return the required authentication and roles of a route."""
    schemes = {scheme.name: f"`{scheme.key}` ({scheme.kind})" for scheme in contract.schemes}
    named = " or ".join(schemes[name] for name in operation.security)
    if not named:
        return "anyone"
    return f"anyone, or with {named}" if operation.is_open else named


def body_text(answer: Answer, anchor: str = "#") -> str:
    """Return the body of a response as text."""
    body = "nothing" if answer.schema is None else type_text(answer.schema, anchor)
    kind = answer.content_type
    return body if kind in {"", _JSON} else f"{body} ({kind})"


def address_of(operation: Operation, example: Example) -> str:
    """Return the path and query of an example's request."""
    path = operation.path
    for name, value in example.params.items():
        path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
    return f"{path}?{urlencode([*spread(example.query)])}" if example.query else path


def curl_command(contract: Contract, operation: Operation, example: Example, base: str) -> str:
    """Return the request of an example as a shell command, one line for each option."""
    method = "" if operation.method == "GET" else f"-X {operation.method} "
    url = shlex.quote(base.rstrip("/") + address_of(operation, example))
    needs = [] if operation.is_open else operation.security[:1]
    access = [_credential(scheme) for scheme in contract.schemes if scheme.name in needs]
    return " \\\n  ".join([f"curl {method}{url}", *access, *_data(operation, example)])


def _credential(scheme: Scheme) -> str:
    if scheme.kind == "bearer":
        return f"-H {shlex.quote(f'{scheme.key}: Bearer YOUR_TOKEN')}"
    if scheme.kind == "header":
        return f"-H {shlex.quote(f'{scheme.key}: YOUR_KEY')}"
    option = "--url-query" if scheme.kind == "query" else "--cookie"
    return f"{option} {shlex.quote(f'{scheme.key}=YOUR_KEY')}"


def _data(operation: Operation, example: Example) -> Iterator[str]:
    if example.body is None or operation.body is None:
        return
    if operation.body.content_type == _JSON:
        yield f"-H {shlex.quote(f'content-type: {_JSON}')}"
        yield f"-d {shlex.quote(json.dumps(example.body, ensure_ascii=False))}"
        return
    for name, value in example.body.items():
        yield f"-F {shlex.quote(f'{name}={value}')}"


def _kind(schema: Schema, kind: str, anchor: str) -> str:
    if kind == "array":
        return f"list of {type_text(schema.get('items', {}), anchor)}"
    if kind == "object":
        names = ", ".join(f"`{name}`" for name in schema.get("properties", {}))
        return f"map of {names}" if names else "map"
    rules = [schema["format"]] if schema.get("format") not in {None, "int64"} else []
    rules += [f"{name} {schema[name]}" for name in _RULES if name in schema]
    return f"{kind} ({', '.join(rules)})" if rules and kind != "null" else kind


def reader_text(topic: Topic) -> str:
    """Return the readers of a topic, and whether clients publish there."""
    who = "who is signed in" if topic.security else "anybody"
    found = f"{who}, if the project allows it" if topic.is_restricted else who
    return (
        f"{found}; clients publish, too, if the project allows it" if topic.can_publish else found
    )


def kept_text(topic: Topic) -> str:
    """Return the history of a topic for clients that come back, and whether they see each other."""
    kept = topic.history
    size = f"{kept.size:,} messages, for {kept.seconds:g} seconds" if kept else "none"
    return f"{size}; subscribers see who is there" if topic.has_presence else size
