"""Write the events that a project sends: as `webhooks` of OpenAPI 3.1, and for people.

Source: https://spec.openapis.org/oas/v3.1.0#oas-webhooks
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from bbops.review.contract.contract import Schema, SentEvent

Object = dict[str, Any]

HEADERS: Final = {
    "webhook-id": "Names the message: all tries of it have the same.",
    "webhook-timestamp": "When this try was signed, in seconds since 1970.",
    "webhook-signature": "`v1,` and the HMAC-SHA256 of id, timestamp and body, in base64.",
}
"""What a message has, as Standard Webhooks says."""


def openapi_webhooks(events: Sequence[SentEvent]) -> Iterator[tuple[str, Object]]:
    """Yield the name of each event, and what a receiver is asked."""
    counted = Counter(one.event for one in events)
    for one in events:
        name = one.event if counted[one.event] == 1 else f"{one.webhook}: {one.event}"
        yield name, {"post": _post(one)}


def message_schema(one: SentEvent) -> Schema:
    """Return the schema of a message's body."""
    return {
        "type": "object",
        "properties": {
            "type": {"const": one.event},
            "timestamp": {"type": "string", "format": "date-time"},
            "data": one.schema,
        },
        "required": ["type", "timestamp", "data"],
    }


def _post(one: SentEvent) -> Object:
    about = {"description": one.description} if one.description else {}
    return {
        "operationId": f"{one.webhook}.{one.event}", "summary": one.event, **about,
        "parameters": [
            {"name": name, "in": "header", "description": words, "required": True,
             "schema": {"type": "string"}} for name, words in HEADERS.items()
        ],
        "requestBody": {
            "required": True, "content": {"application/json": {"schema": message_schema(one)}},
        },
        "responses": {
            "2XX": {"description": "it is taken; within 15 seconds"},
            "410": {"description": "nothing more is wanted: the receiver is disabled"},
            "default": {"description": "it is sent again, up to seven times in 28 hours"},
        },
        "security": [],
    }  # fmt: skip
