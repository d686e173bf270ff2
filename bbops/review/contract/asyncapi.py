"""Topics and sent events of a contract, as AsyncAPI 3, OpenAPI webhooks and Markdown.

Source: https://www.asyncapi.com/docs/reference/specification/v3.0.0
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from bbops.compiler.check import CheckedProject
from bbops.language.expressions.values import BareField
from bbops.language.json_schema import Schema, shape_schema, type_schema
from bbops.language.project import Resource
from bbops.language.resources.realtime import Realtime
from bbops.review.contract.clients import REALTIME
from bbops.review.contract.contract import (
    Contract,
    KeptMessages,
    Message,
    Parameter,
    Scheme,
    SentEvent,
    Topic,
)
from bbops.review.contract.sessions import operation_id, token_schemes
from bbops.runtime.realtime.rows import DELETED, INSERTED, LEFT, UPDATED
from bbops.runtime.values.units import seconds

VERSION: Final = "3.0.0"

Object = dict[str, Any]


def render_asyncapi(contract: Contract) -> str:
    """Return the text of an AsyncAPI document."""
    return json.dumps(asyncapi(contract), indent=2, ensure_ascii=False) + "\n"


def asyncapi(contract: Contract) -> Object:
    """Return an AsyncAPI document as JSON values; its application is the project."""
    used = {name for topic in contract.topics for name in topic.security}
    schemes = {scheme.name: _scheme(scheme) for scheme in contract.schemes if scheme.name in used}
    found: Object = {
        "asyncapi": VERSION,
        "info": {
            "title": contract.project, "version": contract.digest[:12],
            "description": contract.description,
        },
        "defaultContentType": "application/json",
        "servers": _servers(contract),
        "channels": {declared.id: _channel(declared) for declared in contract.topics},
        "operations": {
            name: operation
            for declared in contract.topics for name, operation in _operations(declared)
        },
        "components": {"securitySchemes": schemes} if schemes else {},
    }  # fmt: skip
    return {name: value for name, value in found.items() if value}


def _servers(contract: Contract) -> Object:
    """Return the servers of topics: by websocket, and as server-sent events."""
    parts = urlsplit(contract.server)
    if not parts.netloc:
        return {}
    path = parts.path.rstrip("/") + REALTIME
    is_secure = parts.scheme == "https"
    websocket = {
        "host": parts.netloc, "pathname": path, "protocol": "wss" if is_secure else "ws",
        "description": "The Centrifuge client protocol in JSON.",
    }  # fmt: skip
    events = {
        "host": parts.netloc, "pathname": path, "protocol": "https" if is_secure else "http",
        "description": "Server-sent events: GET the address of a channel.",
    }  # fmt: skip
    return {"websocket": websocket, "events": events}


def _channel(topic: Topic) -> Object:
    history = topic.history
    own: Object = {
        "restricted": topic.is_restricted, "presence": topic.has_presence,
        "history": {"size": history.size, "seconds": history.seconds} if history else None,
    }  # fmt: skip
    found: Object = {
        "address": topic.address,
        "description": topic.description,
        "parameters": {
            parameter.name: {"description": "Percent-encoded, as encodeURIComponent does."}
            for parameter in topic.parameters
        },
        "messages": {message.event: _message(message) for message in topic.messages},
        "x-bbops": {name: value for name, value in own.items() if value},
    }
    return {name: value for name, value in found.items() if value}


def _message(message: Message) -> Object:
    return {
        "name": message.event,
        "payload": {
            "type": "object",
            "properties": {"event": {"const": message.event}, "payload": message.schema},
            "required": ["event", "payload"],
        },
    }


def _operations(topic: Topic) -> list[tuple[str, Object]]:
    """Return the operations of the project: it sends messages, and may receive some."""
    channel = f"#/channels/{topic.id}"
    security = [{"$ref": f"#/components/securitySchemes/{name}"} for name in topic.security]
    found: Object = {"channel": {"$ref": channel}}
    if topic.messages:
        references = [{"$ref": f"{channel}/messages/{message.event}"} for message in topic.messages]
        found["messages"] = references
    if security:
        found["security"] = security
    actions = ["send", *(["receive"] if topic.can_publish else [])]
    return [(f"{topic.id}.{action}", {"action": action, **found}) for action in actions]


def _scheme(scheme: Scheme) -> Object:
    if scheme.kind == "bearer":
        return {
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": scheme.description,
        }  # fmt: skip
    return {
        "type": "httpApiKey", "in": scheme.kind, "name": scheme.key,
        "description": scheme.description,
    }  # fmt: skip


# ---- The topics of a project: their addresses, access and messages


def topics(project: CheckedProject) -> Iterator[Topic]:
    """Yield every topic, by name."""
    for name, found in sorted(project.realtime.items()):
        model = found.model
        yield Topic(
            id=operation_id(name),
            address="/".join(
                f"{{{part[1:]}}}" if part[:1] == ":" else part for part in model.topic.split("/")
            ),
            description=(model.description or "").strip(),
            security=token_schemes(project) if model.authentication == "JWT" else (),
            is_restricted=bool(model.middleware) or not _is(model.subscribe, value=True),
            parameters=tuple(
                Parameter(parameter, "path", required=True, schema={"type": "string"})
                for parameter in model.parameters
            ),
            messages=tuple(messages(project, found)),
            can_publish=not _is(model.publish, value=False),
            history=_history(model),
            has_presence=model.presence is not None,
        )


def _is(decides: BareField, *, value: bool) -> bool:
    """Return whether a condition is this constant."""
    return getattr(getattr(decides, "node", None), "value", None) is value


def _history(model: Realtime) -> KeptMessages | None:
    kept = model.history
    return None if kept is None else KeptMessages(kept.size, seconds(kept.for_))


def messages(project: CheckedProject, found: Resource[Realtime]) -> Iterator[Message]:
    """Yield the messages of a topic: published events, or changes of rows."""
    rows = found.model.rows
    if rows is None:
        for event, shape in sorted(found.model.events.items()):
            yield Message(event, shape_schema(shape))
        return
    types = project.stored_tables[rows.table].column_types
    table = project.tables[rows.table].model
    shown: Schema = _row({name: type_schema(types[name]) for name in rows.select})
    key: Schema = _row({name: type_schema(types[name]) for name in table.key})
    for event, schema in ((INSERTED, shown), (UPDATED, shown), (LEFT, key), (DELETED, key)):
        yield Message(event, schema)


def _row(columns: dict[str, Schema]) -> Schema:
    return {"type": "object", "properties": columns, "required": list(columns)}


# ---- Write the events that a project sends: as `webhooks` of OpenAPI 3.1, and as Markdown
# Source: https://spec.openapis.org/oas/v3.1.0#oas-webhooks


HEADERS: Final = {
    "webhook-id": "Names the message: all tries of it have the same.",
    "webhook-timestamp": "When this try was signed, in seconds since 1970.",
    "webhook-signature": "`v1,` and the HMAC-SHA256 of id, timestamp and body, in base64.",
}
"""The headers of a message, by Standard Webhooks."""


def openapi_webhooks(events: Sequence[SentEvent]) -> Iterator[tuple[str, Object]]:
    """Yield the name of each event, and its request to a receiver."""
    counted = Counter(event.event for event in events)
    for event in events:
        name = event.event if counted[event.event] == 1 else f"{event.webhook}: {event.event}"
        yield name, {"post": _post(event)}


def message_schema(event: SentEvent) -> Schema:
    """Return the schema of a message's body."""
    return {
        "type": "object",
        "properties": {
            "type": {"const": event.event},
            "timestamp": {"type": "string", "format": "date-time"},
            "data": event.schema,
        },
        "required": ["type", "timestamp", "data"],
    }


def _post(event: SentEvent) -> Object:
    about = {"description": event.description} if event.description else {}
    return {
        "operationId": f"{event.webhook}.{event.event}", "summary": event.event, **about,
        "parameters": [
            {"name": name, "in": "header", "description": words, "required": True,
             "schema": {"type": "string"}} for name, words in HEADERS.items()
        ],
        "requestBody": {
            "required": True, "content": {"application/json": {"schema": message_schema(event)}},
        },
        "responses": {
            "2XX": {"description": "it is taken; within 15 seconds"},
            "410": {"description": "nothing more is wanted: the receiver is disabled"},
            "default": {"description": "it is sent again, up to seven times in 28 hours"},
        },
        "security": [],
    }  # fmt: skip
