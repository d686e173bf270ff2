"""Write a contract for people: the session first, then routes by tag, shapes, and prose."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from bbops.language.json_schema import Schema
from bbops.review.contract.contract import (
    Answer,
    Contract,
    Example,
    Operation,
    Parameter,
    SentEvent,
    Topic,
)
from bbops.review.contract.session_words import session_lines
from bbops.review.contract.wording import (
    access_text,
    address_of,
    body_text,
    field_rows,
    kept_text,
    reader_text,
    type_text,
)


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
