"""The part of a client in Python that reads streamed answers, as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from bbops.review.contract.cores.client import AsyncConnection, Connection, ServerError, _Call

# ---- the rest is only in clients of projects with streamed answers
_CUT_OFF = {"code": "cutOff", "message": "the answer ended in the middle"}


class _Events:
    """The events of one answer: no I/O."""

    def __init__(self, call: _Call, response: httpx.Response) -> None:
        self._call, self._response = call, response
        self._event, self._text, self.is_over = "", "", False

    @property
    def is_whole(self) -> bool:
        """Whether it is an ordinary answer, which comes as a whole."""
        kind: str = self._response.headers.get("content-type", "")
        return not kind.startswith("text/event-stream")

    def feed(self, text: str) -> Iterator[Any]:
        """Yield the complete events so far."""
        *lines, self._text = (self._text + text).split("\n")
        for line in lines:
            name, _, value = line.partition(": ")
            if name == "event":
                self._event = value
            elif name == "data":
                data = json.loads(value)
                if self._event == "error":
                    raise self.failure(data)
                self.is_over = self._event == "done"
                yield {"event": self._event, "data": data}

    def failure(self, error: Any) -> ServerError:
        """Return the error of an interrupted answer."""
        response, name = self._response, "x-request-id"
        headers = {name: response.headers[name]} if name in response.headers else {}
        told = httpx.Response(response.status_code, headers=headers, json={"error": error})
        return ServerError(self._call.id, told)


def _stream(connection: Connection, call: _Call) -> Iterator[Any]:
    with connection.open(call) as response:
        events = _Events(call, response)
        if events.is_whole:
            response.read()
            yield {"event": "done", "data": connection._state.read(call, response)}  # noqa: SLF001
            return
        for text in response.iter_text():
            yield from events.feed(text)
            if events.is_over:
                return
        raise events.failure(_CUT_OFF)


async def _stream_async(connection: AsyncConnection, call: _Call) -> AsyncIterator[Any]:
    async with connection.open(call) as response:
        events = _Events(call, response)
        if events.is_whole:
            await response.aread()
            yield {"event": "done", "data": connection._state.read(call, response)}  # noqa: SLF001
            return
        async for text in response.aiter_text():
            for event in events.feed(text):
                yield event
            if events.is_over:
                return
        raise events.failure(_CUT_OFF)
