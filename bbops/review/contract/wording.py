"""A contract as Markdown: its types, access and requests, and the whole of it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from bbops.language.json_schema import Schema
from bbops.review.contract.contract import (
    SHAPES,
    Answer,
    Contract,
    Example,
    Operation,
    Parameter,
    Scheme,
    SentEvent,
    Topic,
)
from bbops.review.contract.sessions import session_lines
from bbops.runtime.values.shapes import spread

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


# ---- Write a contract for people: the session first, then routes by tag, shapes, and prose


def render_markdown(contract: Contract) -> str:
    """Return the text of a Markdown page."""
    return "\n".join(_lines(contract)).rstrip() + "\n"


def _lines(contract: Contract) -> Iterator[str]:
    yield from [f"# {contract.project}", ""]
    if contract.description:
        yield from [contract.description.strip(), ""]
    yield from [f"Contract `{contract.digest[:12]}`.", ""]
    if contract.server:
        yield from [f"Base address: {contract.server}", ""]
    if contract.session is not None:
        yield from ["## Session", "", *session_lines(contract), ""]
    for tag, operations in groupby(contract.operations, key=lambda one: one.tag):
        yield from [f"## {tag}", ""]
        for operation in operations:
            yield from _operation(contract, operation)
    if contract.topics:
        yield from _topics(contract.topics)
    if contract.webhooks:
        yield from _webhooks(contract.webhooks)
    if contract.shapes:
        yield from ["## Shapes", ""]
        for name, schema in contract.shapes.items():
            yield from [f"### {name}", "", *_fields(schema), ""]
    for page in contract.pages:
        yield from [*([] if page.text.startswith("#") else [f"## {page.name}", ""]), page.text, ""]


def _operation(contract: Contract, operation: Operation) -> Iterator[str]:
    yield from [f"### {operation.method} {operation.path}", ""]
    if operation.description:
        yield from [operation.description, ""]
    yield from [f"- Operation: `{operation.id}`", f"- Access: {access_text(contract, operation)}"]
    if operation.roles:
        yield f"- Roles: {', '.join(operation.roles)}"
    if operation.rate_limit:
        per = "a minute" if operation.rate_per == "1m" else f"in {operation.rate_per}"
        yield f"- Limit: {operation.rate_limit} requests {per} for each client"
    yield ""
    if operation.parameters:
        yield from _table(("parameter", "in", "type", ""), map(_parameter, operation.parameters))
    if operation.body is not None:
        yield from [f"Body ({operation.body.content_type}):", "", *_fields(operation.body.schema)]
        yield ""
    yield from _table(("status", "body", "when"), map(_answer, operation.answers))
    for answer in operation.answers:
        if answer.status and answer.status < 400 and "properties" in (answer.schema or {}):
            yield from [f"Answer {answer.status}:", "", *_fields(answer.schema or {}), ""]
    for example in operation.examples[:1]:
        yield from _example(operation, example)


def _topics(topics: Sequence[Topic]) -> Iterator[str]:
    yield from ["## Topics", "", "Subscribe at `/~realtime` with a client of Centrifuge, or read"]
    yield from ["`/~realtime/<topic>` as server-sent events. A message is `{event, payload}`.", ""]
    for topic in topics:
        yield from [
            f"### {topic.address}",
            "",
            *([topic.description, ""] if topic.description else []),
        ]
        yield from [f"- Topic: `{topic.id}`", f"- Access: {reader_text(topic)}"]
        yield from [f"- History: {kept_text(topic)}", ""]
        for message in topic.messages:
            yield from [f"`{message.event}`:", "", *_fields(message.schema), ""]


def _webhooks(events: Sequence[SentEvent]) -> Iterator[str]:
    yield from ["## Webhooks", "", "Sent to receivers, signed as Standard Webhooks says."]
    yield from ["The body is `{type, timestamp, data}`.", ""]
    for event in events:
        yield from [
            f"### {event.event}",
            "",
            *([event.description, ""] if event.description else []),
        ]
        yield from [f"`data` of webhook `{event.webhook}`:", "", *_fields(event.schema), ""]


def _parameter(one: Parameter) -> tuple[str, ...]:
    about = "; ".join(filter(None, ["required" if one.required else "", one.description]))
    return f"`{one.name}`", one.place, type_text(one.schema), about


def _answer(one: Answer) -> tuple[str, ...]:
    status = "another" if one.status is None else str(one.status)
    return status, body_text(one), "; ".join(one.reasons)


def _table(titles: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{' --- |' * len(titles)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _fields(schema: Schema) -> Iterator[str]:
    """Yield the fields of an object as a list, or the type of any other schema."""
    if "properties" not in schema:
        yield type_text(schema)
        return
    for row in field_rows(schema):
        about = (row.type, "" if row.is_required else "may be left out", row.description)
        yield f"- `{row.path}`: {', '.join(_cell(text) for text in about if text)}"


# ---- examples
def _example(operation: Operation, example: Example) -> Iterator[str]:
    yield from [f"Example: {example.name}" if example.name else "Example:", ""]
    yield from ["```http", f"{operation.method} {address_of(operation, example)}"]
    if example.body is not None:
        yield from ["", _json(example.body)]
    yield from ["```", "", "```http", f"HTTP/1.1 {example.status}"]
    if example.value is not None:
        yield from ["", _json(example.value)]
    yield from ["```", ""]


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
