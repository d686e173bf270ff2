"""Answer `/~realtime`: websockets of the Centrifuge protocol, and streams of events."""

from __future__ import annotations

import asyncio
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from bbops.runtime.flow.run import code_of
from bbops.runtime.http.in_flight import ActiveRequest
from bbops.runtime.realtime.linking import Identity
from bbops.runtime.realtime.topics import encode_part
from bbops_server.data_plane.realtime.codes import NOT_TEXT, Refused
from bbops_server.data_plane.realtime.hub import Hub
from bbops_server.data_plane.realtime.session import Session
from bbops_server.data_plane.realtime.stream import STATUSES, EventStream

PATH: Final = "/~realtime"
_JSON: Final = (b"content-type", b"application/json")
_NO_STORE: Final = (b"cache-control", b"no-store")
_METHODS: Final = (b"allow", b"GET, OPTIONS")

Headers = list[tuple[bytes, bytes]]


def is_realtime(path: str) -> bool:
    """Return whether a path of a project, or of a draft, leads to its topics."""
    return path == PATH or path.startswith(f"{PATH}/")


async def serve_socket(hub: Hub, scope: Any, receive: Any, send: Any) -> None:
    """Serve one websocket until it ends."""
    await receive()
    if not hub.topics:
        await refuse_socket(send, 404, "this project has no topics")
        return
    if hub.is_full:
        await refuse_socket(send, 503, "too many clients are connected")
        return
    await send({"type": "websocket.accept"})
    identity = Identity({**scope, "method": "GET", "bbops": ActiveRequest()})
    session = Session(hub, send, identity, handed=hub.find_token(identity.scope))
    try:
        while (message := await receive())["type"] == "websocket.receive":
            text = message.get("text")
            if text is None:
                session.close(NOT_TEXT)
            elif not session.is_closed:
                await session.take(text)
    finally:
        session.forget()


async def refuse_socket(send: Any, status: int, message: str) -> None:
    """Answer a handshake with an error."""
    headers = [_JSON, _NO_STORE]
    start = {"type": "websocket.http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": "websocket.http.response.body", "body": _body(status, message)})


async def answer_request(hub: Hub, scope: Any, receive: Any, send: Any) -> None:
    """Answer a request at `/~realtime…` that is not a websocket."""
    name, cross = topic_of(scope), _cross_origin(hub, scope)
    if scope["method"] == "OPTIONS":
        await _send(send, 204, b"", [_METHODS, *cross, *_preflight(cross)])
    elif scope["method"] != "GET":
        await _refuse(send, 405, f"'{PATH}' answers GET", [_METHODS, *cross])
    elif not name:
        upgrade = (b"upgrade", b"websocket")
        message = f"connect by websocket, or read '{PATH}/<topic>' as server-sent events"
        await _refuse(send, 426, message, [upgrade, *cross])
    elif hub.is_full:
        await _refuse(send, 503, "too many clients are connected", cross)
    else:
        await _stream(hub, name, scope, receive, send, cross)


def topic_of(scope: Any) -> str:
    """Return the name of the topic that a path names, as topics are written."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    parts = raw.decode("latin-1").removeprefix(PATH).removeprefix("/").split("/")
    return "/".join(encode_part(unquote(part)) for part in parts)


async def _stream(hub: Hub, name: str, scope: Any, receive: Any, send: Any, cross: Headers) -> None:
    stream = EventStream(hub, scope)
    try:
        try:
            await stream.begin(name)
        except Refused as refused:
            status = STATUSES.get(refused.code, 503 if refused.is_temporary else 400)
            later = [(b"retry-after", b"1")] if status in {429, 503} else []
            await _refuse(send, status, refused.message, [*later, *cross])
            return
        kind = (b"content-type", b"text/event-stream")
        headers = [kind, _NO_STORE, (b"x-accel-buffering", b"no"), *cross]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await _until_left(stream, receive, send)
    finally:
        stream.forget()


async def _until_left(stream: EventStream, receive: Any, send: Any) -> None:
    flowing, leaving = asyncio.create_task(stream.flow(send)), asyncio.create_task(_left(receive))
    try:
        await asyncio.wait({flowing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if flowing.done() and not leaving.done():
            await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        flowing.cancel()
        leaving.cancel()


async def _left(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _cross_origin(hub: Hub, scope: Any) -> Headers:
    """Return what lets a page of another origin read the answer, as channels list them."""
    origin = next((value for name, value in scope["headers"] if name == b"origin"), None)
    if origin is None:
        return []
    listed = hub.origins.get(origin.decode("latin-1").lower())
    if listed is None:
        any_origin = (b"access-control-allow-origin", b"*")
        return [any_origin] if "*" in hub.origins else [(b"vary", b"origin")]
    found = [(b"access-control-allow-origin", origin), (b"vary", b"origin")]
    return [*found, (b"access-control-allow-credentials", b"true")] if listed else found


def _preflight(cross: Headers) -> Headers:
    if not any(name == b"access-control-allow-origin" for name, _ in cross):
        return []
    return [
        (b"access-control-allow-methods", b"GET"),
        (b"access-control-allow-headers", b"authorization, last-event-id"),
        (b"access-control-max-age", b"600"),
    ]


def _body(status: int, message: str) -> bytes:
    return msgspec.json.encode({"error": {"code": code_of(status), "message": message}})


async def _refuse(send: Any, status: int, message: str, headers: Headers) -> None:
    await _send(send, status, _body(status, message), [_JSON, _NO_STORE, *headers])


async def _send(send: Any, status: int, body: bytes, headers: Headers) -> None:
    length = [] if status == 204 else [(b"content-length", b"%d" % len(body))]
    start = {"type": "http.response.start", "status": status, "headers": [*headers, *length]}
    await send(start)
    await send({"type": "http.response.body", "body": body})
