"""The topics and sent events of a contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from bbops.compiler.check import CheckedProject
from bbops.language.expressions.values import BareField
from bbops.language.json_schema import Schema, shape_schema, type_schema
from bbops.language.project import Resource
from bbops.language.resources.realtime import Realtime
from bbops.review.contract.contract import KeptMessages, Message, Parameter, SentEvent, Topic
from bbops.review.contract.sessions import operation_id, token_schemes
from bbops.runtime.realtime.rows import DELETED, INSERTED, LEFT, UPDATED
from bbops.runtime.values.units import seconds


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

Object = dict[str, Any]

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
