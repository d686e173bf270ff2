"""Write a contract as OpenAPI 3.1, whose schemas are JSON Schema 2020-12.

Source: https://spec.openapis.org/oas/v3.1.0
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final

from bbops.language.json_schema import Schema
from bbops.review.contract.asyncapi import openapi_webhooks
from bbops.review.contract.contract import (
    SHAPES,
    Answer,
    Contract,
    Example,
    Operation,
    Parameter,
    Scheme,
)
from bbops.review.contract.sessions import session_lines
from bbops.review.contract.shared import rebuilt

VERSION: Final = "3.1.0"
_HEADERS: Final[dict[str, Schema]] = {"retry-after": {"type": "integer", "minimum": 0}}
"""The schemas of headers that are not plain text."""

Object = dict[str, Any]


def render_openapi(contract: Contract) -> str:
    """Return the text of an OpenAPI document."""
    return json.dumps(openapi(contract), indent=2, ensure_ascii=False) + "\n"


def openapi(contract: Contract) -> Object:
    """Return an OpenAPI document as JSON values."""
    paths: dict[str, Object] = {}
    for operation in contract.operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    found: Object = {
        "openapi": VERSION,
        "info": {
            "title": contract.project, "version": contract.digest[:12],
            "description": "\n\n".join(_about(contract)),
        },
        "servers": [{"url": contract.server}] if contract.server else [],
        "tags": [{"name": tag} for tag in dict.fromkeys(call.tag for call in contract.operations)],
        "paths": dict(sorted(paths.items())),
        "webhooks": dict(openapi_webhooks(contract.webhooks)),
        "components": _components(contract),
    }  # fmt: skip
    return _filled(found)


def _about(contract: Contract) -> Iterator[str]:
    yield contract.description
    if contract.session is not None:
        yield "\n".join(["# Session", "", *session_lines(contract)])


def _components(contract: Contract) -> Object:
    schemas = {name: _schema(rebuilt(shape, _schema)) for name, shape in contract.shapes.items()}
    schemes = {scheme.name: _scheme(scheme) for scheme in contract.schemes}
    return _filled({"schemas": schemas, "securitySchemes": schemes})


def _scheme(scheme: Scheme) -> Object:
    if scheme.kind == "bearer":
        found = {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
    else:
        found = {"type": "apiKey", "in": scheme.kind, "name": scheme.key}
    return {**found, "description": scheme.description}


# ---- routes
def _operation(operation: Operation) -> Object:
    first, _, rest = operation.description.partition("\n")
    takes = {parameter.name: parameter for parameter in operation.parameters}
    good = next((example for example in operation.examples if example.status < 400), None)
    found: Object = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": first.rstrip("."),
        "description": operation.description if rest.strip() else "",
        "parameters": [_parameter(parameter, good) for parameter in takes.values()],
        "requestBody": _body(operation),
    }
    security: list[Object] = [{name: []} for name in operation.security]
    return {
        **_filled(found),
        "responses": _responses(operation),
        "security": [{}, *security] if operation.is_open and security else security,
        **_filled({"x-bbops": _own(operation)}),
    }


def _own(operation: Operation) -> Object:
    limit: object = operation.rate_limit
    if limit and operation.rate_per != "1m":
        limit = {"limit": operation.rate_limit, "per": operation.rate_per}
    return _filled({
        "channel": operation.channel, "rateLimit": limit, "roles": list(operation.roles),
    })  # fmt: skip


def _parameter(parameter: Parameter, good: Example | None) -> Object:
    found: Object = {
        "name": parameter.name, "in": parameter.place, "description": parameter.description,
        "required": parameter.required,
    }  # fmt: skip
    given = {"path": good.params, "query": good.query}.get(parameter.place, {}) if good else {}
    example = {"example": given[parameter.name]} if parameter.name in given else {}
    if parameter.is_deep:
        found |= {"style": "deepObject", "explode": True}
    return {**_filled(found), "schema": _schema(parameter.schema), **example}


def _body(operation: Operation) -> Object | None:
    body = operation.body
    if body is None:
        return None
    good = [
        example
        for example in operation.examples
        if example.status < 400 and example.body is not None
    ]
    shown = {_title(example): {"value": example.body} for example in good}
    content = {"schema": _schema(body.schema), **_filled({"examples": shown})}
    return {"required": body.required, "content": {body.content_type: content}}


def _responses(operation: Operation) -> Object:
    found: dict[str, Object] = {}
    for answer in operation.answers:
        status = "default" if answer.status is None else str(answer.status)
        one = found.setdefault(status, {"description": _description(answer)})
        if headers := {name: _header(name) for name in answer.headers}:
            one["headers"] = one.get("headers", {}) | headers
        if answer.schema is not None:
            one.setdefault("content", {})[answer.content_type] = _content(operation, answer)
    return found


def _content(operation: Operation, answer: Answer) -> Object:
    shown = {
        _title(example): {"value": example.value}
        for example in operation.examples
        if example.status == answer.status and example.value is not None
    }
    return {"schema": _schema(answer.schema or {}), **_filled({"examples": shown})}


def _header(name: str) -> Object:
    return {"schema": _HEADERS.get(name, {"type": "string"})}


def _description(answer: Answer) -> str:
    if answer.reasons:
        return "; ".join(answer.reasons)
    if answer.status is None:
        return "a status that is known only when it happens"
    try:
        return HTTPStatus(answer.status).phrase
    except ValueError:
        return f"status {answer.status}"


def _title(example: Example) -> str:
    return example.name or "from its shape"


# ---- schemas
def _schema(schema: Schema) -> Schema:
    """Return a schema whose references point into the document."""
    if "$ref" in schema:
        return {"$ref": schema["$ref"].replace(SHAPES, "#/components/schemas/")}
    return rebuilt(schema, _schema)


def _filled(values: Object) -> Object:
    """Return the non-empty values."""
    return {name: value for name, value in values.items() if value is False or value}
