"""Recorded exchanges: requests and answers without secrets, for the history of an endpoint.

Server-sent events, which a history joins, are read and written here as well (source: the HTML
standard, "Server-sent events").
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from bbops.runtime.flow.masking import MASK, Mask
from bbops.runtime.http.headers import find_header, read_media_type

MOST_READ_BYTES: Final = 64 << 10
"""How much of a body is looked at; what is longer is not kept."""
MOST_KEPT: Final = 8 << 10
"""Characters of a body that are kept."""
TOO_LONG: Final = "…"
"""Stands for the rest of a body, or for all of one that is too long to look for secrets in."""

_JSON: Final = "application/json"
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class Exchange:
    """Listens to one request and its answer."""

    __slots__ = ("_came", "_headers", "_mask", "_went")

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._came, self._went = bytearray(), bytearray()
        self._headers: list[tuple[bytes, bytes]] = []

    def receiving(self, receive: Receive) -> Receive:
        """Return the same, listened to."""

        async def listening() -> Any:
            message = await receive()
            _add(self._came, message.get("body", b""))
            return message

        return listening

    def sending(self, send: Send) -> Send:
        """Return the same, listened to."""

        async def listening(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._headers = list(message["headers"])
            _add(self._went, message.get("body", b""))
            await send(message)

        return listening

    def record(self, scope: Any) -> dict[str, Any]:
        """Return what is written down: query, headers, input and output, without their secrets.

        `digest` tells two outputs apart that are too long to be kept, by their beginnings.
        """
        output = self._output()
        if find_header(self._headers, b"content-type").startswith(STREAM.encode()):
            output = join_stream(output)
        return {
            "query": self._pairs(scope["query_string"]),
            "headers": self._named(scope["headers"]),
            "input": self._shown(bytes(self._came), scope["headers"]),
            "output": self._shown(output, self._headers),
            "type": find_header(self._headers, b"content-type").decode("latin-1"),
            "digest": sha256(output).hexdigest()[:16],
        }

    def _output(self) -> bytes:
        if find_header(self._headers, b"content-encoding") != b"gzip":
            return bytes(self._went)
        try:
            return zlib.decompressobj(31).decompress(bytes(self._went), MOST_READ_BYTES + 1)
        except zlib.error:  # what was listened to ends in the middle
            return b""

    def _named(self, headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
        named = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
        return {
            name: MASK if self._mask.hides(name) else self._mask.text(value)
            for name, value in named
        }

    def _pairs(self, query: bytes) -> list[list[str]]:
        try:
            pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
        except ValueError:
            return []
        return [
            [name, MASK if self._mask.hides(name) else self._mask.text(value)]
            for name, value in pairs
        ]

    def _shown(self, body: bytes, headers: list[tuple[bytes, bytes]]) -> str:
        """Return a body as text; one of several parts, or that is no text, is only counted."""
        if len(body) > MOST_READ_BYTES:
            return TOO_LONG
        kind, _ = read_media_type(find_header(headers, b"content-type"))
        if kind.startswith(("multipart/", "image/", "audio/", "video/", "font/")):
            return TOO_LONG if body else ""
        if kind == "application/x-www-form-urlencoded":
            text = _encode(dict(self._pairs(body))).decode()
        else:
            text = self._as_json(body)
        text = self._mask.text(text)
        return text if len(text) <= MOST_KEPT else text[:MOST_KEPT] + TOO_LONG

    def _as_json(self, body: bytes) -> str:
        try:
            return _encode(self._mask.value(_decode(body))).decode() if body else ""
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
            return body.decode("utf-8", "replace")


def join_stream(output: bytes) -> bytes:
    """Return the events of a stream as JSON, their texts joined: a secret may be in two of them."""
    if len(output) > MOST_READ_BYTES:
        return output  # which is too long to be shown
    return _encode(joined_texts(parse_events(output)))


class WithHistory:
    """A pipeline whose requests are kept whole, or not at all."""

    __slots__ = ("cors", "is_kept", "mask", "pipeline")

    def __init__(self, pipeline: Any, mask: Mask, *, is_kept: bool) -> None:
        self.pipeline, self.cors = pipeline, pipeline.cors
        self.mask, self.is_kept = mask, is_kept

    async def __call__(self, scope: Any, receive: Any, send: Any, params: dict[str, str]) -> None:
        """Answer one request, see `Pipeline`."""
        trace = scope["bbops"]
        if not self.is_kept:
            trace.is_untold = True
            await self.pipeline(scope, receive, send, params)
            return
        exchange = trace.exchange = Exchange(self.mask)
        await self.pipeline(scope, exchange.receiving(receive), exchange.sending(send), params)


def _add(kept: bytearray, data: bytes) -> None:
    if data and len(kept) <= MOST_READ_BYTES:
        kept += data[: MOST_READ_BYTES + 1 - len(kept)]


STREAM: Final = "text/event-stream"


def write_event(name: str, data: Any) -> bytes:
    """Return one event; its data is JSON, which has no line breaks."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), _encode(data))


def parse_events(body: bytes) -> list[dict[str, Any]]:
    """Return the events that `write_event` has written, as `{event, data}`; no comments."""
    found = []
    for one in body.decode("utf-8", "replace").split("\n\n"):
        name, _, data = one.partition("\n")
        if name.startswith("event: ") and data.startswith("data: "):
            try:
                known = _decode(data.removeprefix("data: "))
            except msgspec.DecodeError:  # the answer was cut here
                continue
            found.append({"event": name.removeprefix("event: "), "data": known})
    return found


def joined_texts(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return events in which texts that follow each other are one."""
    found: list[dict[str, Any]] = []
    for one in events:
        if found and one["event"] == found[-1]["event"] == "text":
            whole = found[-1]["data"]["text"] + one["data"]["text"]
            found[-1] = {"event": "text", "data": {"text": whole}}
        else:
            found.append(one)
    return found
