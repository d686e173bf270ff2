"""Write a contract for people: the session first, then routes by tag, shapes, and prose."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import quote, urlencode

from bbops.review.contract.contract import Answer, Contract, Example, Operation, Parameter
from bbops.review.contract.schema import Schema
from bbops.review.contract.session_words import session_lines
from bbops.review.contract.shared import SHAPES


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
    yield from [f"- Operation: `{operation.id}`", f"- Access: {_access(contract, operation)}"]
    if operation.rate_limit:
        yield f"- Limit: {operation.rate_limit} requests a minute for each client"
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


def _access(contract: Contract, operation: Operation) -> str:
    schemes = {one.name: f"`{one.key}` ({one.kind})" for one in contract.schemes}
    named = " or ".join(schemes[name] for name in operation.security)
    if not named:
        return "anyone"
    return f"anyone, or with {named}" if operation.is_open else named


def _parameter(one: Parameter) -> tuple[str, ...]:
    about = "; ".join(filter(None, ["required" if one.required else "", one.description]))
    return f"`{one.name}`", one.place, _words(one.schema), about


def _answer(one: Answer) -> tuple[str, ...]:
    status = "another" if one.status is None else str(one.status)
    body = "nothing" if one.schema is None else _words(one.schema)
    kind = one.content_type
    body = body if kind in {"", "application/json"} else f"{body} ({kind})"
    return status, body, "; ".join(one.reasons)


def _table(titles: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{' --- |' * len(titles)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


# ---- shapes
def _fields(schema: Schema) -> Iterator[str]:
    """Yield the fields of a map as a list; of anything else what it is."""
    if "properties" not in schema:
        yield _words(schema)
        return
    for path, one, required in _paths(schema, ""):
        about = [_words(one), "" if required else "may be left out", one.get("description", "")]
        yield f"- `{path}`: {', '.join(_cell(text) for text in about if text)}"


def _paths(schema: Schema, before: str) -> Iterator[tuple[str, Schema, bool]]:
    for name, one in schema.get("properties", {}).items():
        yield before + name, one, name in schema.get("required", ())
        yield from _paths(one, f"{before}{name}.")
        yield from _paths(one.get("items", {}), f"{before}{name}[].")


def _words(schema: Schema) -> str:
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(SHAPES)
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_words, schema["anyOf"])))
    if "enum" in schema:
        return "one of " + ", ".join(f"`{one}`" for one in schema["enum"])
    kind = schema.get("type", "anything")
    kinds = kind if isinstance(kind, list) else [kind]
    return " or ".join(_kind(schema, one) for one in kinds)


def _kind(schema: Schema, kind: str) -> str:
    if kind == "array":
        return f"list of {_words(schema.get('items', {}))}"
    if kind == "object":
        names = ", ".join(f"`{name}`" for name in schema.get("properties", {}))
        return f"map of {names}" if names else "map"
    rules = [schema["format"]] if schema.get("format") not in {None, "int64"} else []
    rules += [f"{name} {schema[name]}" for name in _RULES if name in schema]
    return f"{kind} ({', '.join(rules)})" if rules and kind != "null" else kind


_RULES = ("minLength", "maxLength", "minimum", "maximum", "pattern", "default")


# ---- examples
def _example(operation: Operation, example: Example) -> Iterator[str]:
    path = operation.path
    for name, value in example.params.items():
        path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
    query = f"?{urlencode(example.query, doseq=True)}" if example.query else ""
    yield from [f"Example: {example.name}" if example.name else "Example:", ""]
    yield from ["```http", f"{operation.method} {path}{query}"]
    if example.body is not None:
        yield from ["", _json(example.body)]
    yield from ["```", "", "```http", f"HTTP/1.1 {example.status}"]
    if example.value is not None:
        yield from ["", _json(example.value)]
    yield from ["```", ""]


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
