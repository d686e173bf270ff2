"""Answers of a draft's process to requests, and the rows of its database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from bbops.base.errors import ServerError
from bbops.runtime.http.in_flight import SWEEP_SECONDS
from bbops.runtime.values.failures import Failure
from bbops.runtime.values.identifiers import quote
from bbops_server.data_plane.drafts.pages import is_of_frontend
from bbops_server.data_plane.drafts.wire import Accept, Close, Head, Lead, Part, Start, Text, Wire
from bbops_server.data_plane.live.playground import DRAFT_SENDER, serve_traced, takes_trace
from bbops_server.data_plane.live.swap import Live
from bbops_server.data_plane.realtime.serving import (
    answer_request,
    is_realtime,
    refuse_socket,
    serve_socket,
)
from bbops_server.process.messages.drafts import ListDraftRows, SignInToDraft

_ASGI: Final[Any] = {"version": "3.0", "spec_version": "2.3"}
_NO_RELEASE: Final = b'{"error":{"code":"draftSleeps","message":"this draft is being made"}}'
_log = logging.getLogger(__name__)


class Answering:
    """The door of the process: each connection is one request."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._server: asyncio.Server | None = None
        self._under_way: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.Task[None] | None = None

    async def start(self, path: str) -> None:
        """Take connections at a path."""
        self._server = await asyncio.start_unix_server(self._meet, path, backlog=1_024)

    async def stop(self, grace_seconds: float) -> None:
        """Take no more, and wait for those under way, at most for the grace.

        Answers that go on as a stream have half of it: then they end, and say why.
        """
        if self._server is not None:
            self._server.close()
        requests = self._live.active_requests
        asyncio.get_running_loop().call_later(grace_seconds / 2, requests.end_streams)
        if self._under_way:
            await asyncio.wait(set(self._under_way), timeout=grace_seconds)

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - streams make one
        self._under_way.add(task)
        if self._sweeping is None:
            self._sweeping = asyncio.create_task(self._sweep())
        wire = Wire(reader, writer)
        try:
            await self._answer(wire)
        except Exception:  # noqa: BLE001 - the next request is another one
            _log.exception("a request of a draft failed")
        else:
            self._under_way.discard(task)
            await wire.linger()
        finally:
            self._under_way.discard(task)
            wire.close()

    async def _answer(self, wire: Wire) -> None:
        head, live = await wire.read(), self._live
        if not isinstance(head, Head):
            return
        scope = _scope(head)
        if live.held is not None:
            await live.held.wait()
        if head.is_socket:
            await self._serve_socket(scope, wire)
        elif head.leads and is_of_frontend(scope, live):
            with suppress(ConnectionError):
                await wire.write(Lead())
        elif live.release is None:
            send = _sending(wire)
            json = (b"content-type", b"application/json")
            await send({"type": "http.response.start", "status": 503, "headers": [json]})
            await send({"type": "http.response.body", "body": _NO_RELEASE})
        elif live.realtime.hub.topics and is_realtime(scope["path"]):
            await answer_request(live.realtime.hub, scope, _receiving(wire), _sending(wire))
        elif takes_trace(scope):
            receive, send = _receiving(wire), _sending(wire)
            await serve_traced(live.release, scope, receive, send, DRAFT_SENDER)
        else:
            await live.release(scope, _receiving(wire), _sending(wire))

    async def _serve_socket(self, scope: Any, wire: Wire) -> None:
        scope["type"] = "websocket"
        receive, send = _hearing(wire), _talking(wire)
        if self._live.release is None:
            await refuse_socket(send, 503, "this draft is being made")
        else:
            await serve_socket(self._live.realtime.hub, scope, receive, send)

    async def _sweep(self) -> None:
        """End what is over its time, while something is under way."""
        self._live.active_requests.loop = asyncio.get_running_loop()
        while self._under_way:
            await asyncio.sleep(SWEEP_SECONDS)
            self._live.active_requests.sweep()
        self._sweeping = None


def _scope(head: Head) -> dict[str, Any]:
    return {
        "type": "http", "asgi": _ASGI, "http_version": "1.1", "scheme": head.scheme,
        "server": None, "client": head.client, "root_path": head.root_path,
        "method": head.method, "path": head.path, "raw_path": head.raw_path,
        "query_string": head.query, "headers": head.headers, "state": {},
    }  # fmt: skip


def _receiving(wire: Wire) -> Callable[[], Awaitable[Any]]:
    async def receive() -> Any:
        part = await wire.read()
        if not isinstance(part, Part):
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": part.data, "more_body": part.more}

    return receive


def _hearing(wire: Wire) -> Callable[[], Awaitable[Any]]:
    """Return the `receive` of a websocket; its first message is `websocket.connect`."""
    has_begun = False

    async def receive() -> Any:
        nonlocal has_begun
        if not has_begun:
            has_begun = True
            return {"type": "websocket.connect"}
        data = bytearray()
        while isinstance(frame := await wire.read(), Text):
            data += frame.data
            if not frame.more:
                return {"type": "websocket.receive", "text": data.decode("utf-8", "replace")}
        return {"type": "websocket.disconnect", "code": 1006}

    return receive


def _talking(wire: Wire) -> Callable[[Any], Awaitable[None]]:
    """Return the `send` of a websocket; it writes nothing to a client that has left."""
    answer = _sending(wire)

    async def send(message: Any) -> None:
        kind = message["type"].removeprefix("websocket.")
        with suppress(ConnectionError):
            if kind == "accept":
                await wire.write(Accept())
            elif kind == "send":
                await wire.write_message(message["text"])
            elif kind == "close":
                await wire.write(Close(message.get("code", 1000), message.get("reason") or ""))
            else:  # an answer in place of a websocket
                await answer({**message, "type": kind})

    return send


def _sending(wire: Wire) -> Callable[[Any], Awaitable[None]]:
    """Return what writes an answer; to a client that has left, nothing."""

    async def send(message: Any) -> None:
        with suppress(ConnectionError):
            if message["type"] == "http.response.start":
                await wire.write(Start(message["status"], list(message.get("headers", ()))))
            elif message["type"] == "http.response.body":
                body, more = message.get("body", b""), bool(message.get("more_body"))
                await wire.write_body(bytes(body), more=more)

    return send


# ---- List rows of a draft's own database, to choose one in a form

MAX_ROWS: Final = 50
_MAX_CHARACTERS: Final = 100


async def list_rows(live: Live, request: ListDraftRows) -> list[tuple[str, list[str]]]:
    """Return the key and the labels of the newest rows, at most 50; nothing before a release.

    Args:
        live: the draft.
        request: names the table and its columns, which come from the draft's outline.
    """
    release = live.release
    if release is None:
        return []
    columns = ", ".join(map(quote, (request.key, *request.labels)))
    statement = (
        f"SELECT {columns} FROM {quote(request.table)} ORDER BY {quote(request.key)} DESC LIMIT ?"
    )
    limit = min(request.limit, MAX_ROWS)
    rows = await release.answering.host.database.read(statement, [limit])
    return [(_text(key), [_text(label) for label in labels]) for key, *labels in rows]


def _text(value: Any) -> str:
    return "" if value is None else str(value)[:_MAX_CHARACTERS]


LASTS_SECONDS: Final = 60.0


async def sign_in(live: Live, request: SignInToDraft) -> str:
    """Return a token for the row that a request names; empty where there is none.

    Args:
        live: the release of a draft; live projects have no such request.
        request: names the row.

    Raises:
        ServerError: nothing answers, it has no signing key, or no token can name the row.
    """
    release = live.release
    if release is None or release.answering.tokens is None:
        raise ServerError("the draft has no signing key")
    names = [request.key, *request.tells]
    columns = ", ".join(map(quote, names))
    where = f"FROM {quote(request.table)} WHERE {quote(request.by)} = ?"
    rows = await release.answering.host.database.read(
        f"SELECT {columns} {where} LIMIT 1",
        [request.value],
    )
    if not rows:
        return ""
    user, *told = rows[0]
    claims = dict(zip(request.tells, told, strict=True))
    try:
        token = release.answering.tokens.issue(user, **claims, expires_seconds=LASTS_SECONDS)
    except Failure as failure:
        raise ServerError(failure.message) from None
    return token
