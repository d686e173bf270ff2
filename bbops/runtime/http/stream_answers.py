"""Answer with what a step gives piece by piece, as server-sent events.

The events are `text` (`{"text": …}`) as they come, and a last one: `done` with what the step would
have returned, or `error` (`{"code", "message", "requestId"}`).

Nothing is kept ahead of the client: the next piece is read once the one before has been taken, so
a slow client makes the vendor wait. A client that leaves ends the vendor's request.

Source: the HTML standard, "Server-sent events".
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, Final

from bbops.base.doors import StreamEvent
from bbops.runtime.flow.run import Answer, SentStream
from bbops.runtime.http.exchanges import STREAM, write_event
from bbops.runtime.http.headers import has_header
from bbops.runtime.http.in_flight import ActiveRequest
from bbops.runtime.http.request_decoding import Gone
from bbops.runtime.http.responses import Answering, encode
from bbops.runtime.values.failures import Thrown

BEAT_SECONDS: Final = 15.0
"""How long nothing is sent at most: proxies and clients take what is silent for dead."""
LAST_WORDS_SECONDS: Final = 2.0
"""How long a client has to take the last event of an answer that is ended from outside."""

_BEAT: Final = b": beat\n\n"
_NOT_KEPT: Final = (b"cache-control", b"no-store")
_AT_ONCE: Final = (b"x-accel-buffering", b"no")
"""Of a proxy that would collect the answer."""
_ENDS: Final = {
    "timeout": ("timeout", "it took too long"),
    "stop": ("serverStops", "the server stops; ask again"),
}


async def events_of(stream: SentStream) -> AsyncGenerator[bytes, None]:
    """Yield what comes as events, those that come together as one; `done` is the last.

    Raises:
        Failure: it breaks off.
    """
    while (pieces := await stream.read()) is not None:
        if pieces:
            yield b"".join(map(_write_piece, pieces))
    yield b"event: done\ndata: %b\n\n" % encode(stream.result())


def _write_piece(piece: str | StreamEvent) -> bytes:
    if isinstance(piece, str):
        return write_event("text", {"text": piece})
    return write_event(piece.name, piece.data)


async def send_stream(answering: Answering, send: Any, scope: Any, answer: Answer) -> None:
    """Send an answer whose value is a SentStream.

    Raises:
        Failure: its headers cannot be sent.
        CancelledError: the client has left.
        Gone: it does not take even the last event.
    """
    status, _, headers = answering.render((200, b"", answer[2], STREAM))
    sending, stream = _Sending(answering, send, scope), answer[1]
    try:
        await sending.begin(status, headers)
        if scope["method"] != "HEAD":
            await sending.flow(stream)
        await sending.write(b"", is_last=True)
    finally:
        await stream.close()
        if answering.history is not None:
            answering.remember(scope, scope["bbops"], status, sending.size_bytes)


class _Sending:
    """One answer on its way."""

    def __init__(self, answering: Answering, send: Any, scope: Any) -> None:
        self._answering, self._send, self._scope = answering, send, scope
        self._active: ActiveRequest = scope["bbops"]
        self.size_bytes = 0

    async def begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        active = self._active
        every = self._answering.dress(active, headers)
        every += [one for one in (_NOT_KEPT, _AT_ONCE) if not has_header(every, one[0])]
        active.is_sent = True
        await self._send({"type": "http.response.start", "status": status, "headers": every})

    async def write(self, data: bytes, *, is_last: bool = False) -> None:
        self.size_bytes += len(data)
        part = {"type": "http.response.body", "body": data, "more_body": not is_last}
        await self._send(part)

    async def flow(self, stream: SentStream) -> None:
        """Send everything, or why not: an error is the last event."""
        try:
            await self._flow(stream)
        except asyncio.CancelledError:
            ended = _ENDS.get(self._active.ended_by)
            if ended is None or self._active.task is None:
                raise
            self._active.task.uncancel()
            self._active.failure = ended[1]
            try:
                async with asyncio.timeout(LAST_WORDS_SECONDS):
                    await self.write(self._error({"code": ended[0], "message": ended[1]}))
            except TimeoutError:
                raise Gone from None
        except Exception as error:  # noqa: BLE001 - the last place
            body = failure_body(self._answering, error, self._scope, stream.line)
            await self.write(self._error(body))

    def _error(self, body: dict[str, Any]) -> bytes:
        name = self._answering.name_request(self._active).decode()
        return write_event("error", {**body, "requestId": name})

    async def _flow(self, stream: SentStream) -> None:
        events = events_of(stream)
        reading: asyncio.Future[bytes | None] | None = None
        try:
            while True:
                reading = reading or asyncio.ensure_future(_next(events))
                done, _ = await asyncio.wait({reading}, timeout=BEAT_SECONDS)
                if not done:
                    await self.write(_BEAT)
                    continue
                data, reading = reading.result(), None
                if data is None:
                    return
                await self.write(data)
        finally:
            if reading is not None:
                reading.cancel()
                with suppress(BaseException):
                    await reading
            await events.aclose()


async def _next(events: AsyncGenerator[bytes, None]) -> bytes | None:
    return await anext(events, None)


def failure_body(answering: Answering, error: Exception, scope: Any, line: str) -> dict[str, Any]:
    """Return what the event `error` says of a failure, which is logged with its step."""
    if answering.detailed:
        scope["bbops"].at = line
    if isinstance(error, Thrown):
        return {"code": error.code, "message": error.message}
    body, _ = answering.explain(error, scope, line)
    scope["bbops"].code = body["code"]
    return body


async def read_events(answering: Answering, scope: Any, stream: SentStream) -> bytes:
    """Return a whole answer, for who waits for all of it: a test of a function."""
    parts: list[bytes] = []
    try:
        async for data in events_of(stream):
            parts.append(data)  # noqa: PERF401 - those before a failure count
    except Exception as error:  # noqa: BLE001 - as a request would
        body = failure_body(answering, error, scope, stream.line)
        name = answering.name_request(scope["bbops"]).decode()
        parts.append(write_event("error", {**body, "requestId": name}))
    finally:
        await stream.close()
    return b"".join(parts)
