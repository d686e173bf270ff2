"""Write the topics of a contract as AsyncAPI 3, for tools that read messages.

Source: https://www.asyncapi.com/docs/reference/specification/v3.0.0
"""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import urlsplit

from bbops.review.contract.clients import REALTIME
from bbops.review.contract.contract import Contract, Message, Scheme, Topic

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
