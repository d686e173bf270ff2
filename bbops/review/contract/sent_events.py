"""Write the events that a project sends: as `webhooks` of OpenAPI 3.1, and as Markdown.

Source: https://spec.openapis.org/oas/v3.1.0#oas-webhooks
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from bbops.language.json_schema import Schema
from bbops.review.contract.contract import SentEvent

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
