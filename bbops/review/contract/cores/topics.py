"""The part of a client in Python that reads topics, as server-sent events."""

from __future__ import annotations

import asyncio
import json
import random  # noqa: TID251 - a client's own
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx

from bbops.review.contract.cores.client import ApiError, AsyncConnection, Connection, _Call

# ---- the rest is only in clients of projects with topics
_LONGEST_PAUSE_SECONDS = 20.0
_MOST_CHARACTERS = 1 << 20


class _Listening:
    """Where the reader of a topic stands, and how long it waits after a cut: no I/O."""

    def __init__(
        self, call: _Call, on_open: Callable[[], None] | None, on_reset: Callable[[], None] | None
    ) -> None:
        self._call, self._on_open, self._on_reset = call, on_open, on_reset
        self._last, self._text, self._tries, self._wait = "", "", 0, 0.0

    @property
    def call(self) -> _Call:
        self._text = ""
        headers = {"accept": "text/event-stream"} | (
            {"last-event-id": self._last} if self._last else {}
        )
        return replace(self._call, headers=headers)

    def begin(self) -> None:
        """Take note that the topic is read now."""
        self._tries, self._wait = 0, 0.0
        if self._on_open is not None:
            self._on_open()

    def feed(self, text: str) -> Iterator[Any]:
        """Yield the messages that are whole now."""
        *lines, self._text = (self._text + text).split("\n")
        if len(self._text) > _MOST_CHARACTERS:
            raise ValueError("a message is too long")
        for line in lines:
            name, _, value = line.rstrip("\r").partition(": ")
            if name == "id":
                self._last = value
            elif name == "event" and value == "reset" and self._on_reset is not None:
                self._on_reset()
            elif name == "data" and value.startswith('{"event"'):
                yield json.loads(value)

    def fail(self, error: ApiError) -> None:
        """Take note of an answer that was none; raises it where it would be the same again."""
        if error.status < 500 and error.status != 429:
            raise error
        self._wait = float(error.retry_after_seconds or 0)

    def pause(self) -> float:
        """Return for how many seconds to wait before the next try."""
        longest = min(_LONGEST_PAUSE_SECONDS, 0.25 * (1 << self._tries))
        self._tries = min(self._tries + 1, 10)
        return max(self._wait, longest * random.uniform(0.5, 1.0))  # noqa: S311 - spreads tries


def _listen(
    connection: Connection, call: _Call,
    on_open: Callable[[], None] | None, on_reset: Callable[[], None] | None,
) -> Iterator[Any]:  # fmt: skip
    listening = _Listening(call, on_open, on_reset)
    while True:
        try:
            with connection.open(listening.call) as response:
                listening.begin()
                for text in response.iter_text():
                    yield from listening.feed(text)
        except httpx.TransportError:
            pass
        except ApiError as error:
            listening.fail(error)
        time.sleep(listening.pause())


async def _listen_async(
    connection: AsyncConnection, call: _Call,
    on_open: Callable[[], None] | None, on_reset: Callable[[], None] | None,
) -> AsyncIterator[Any]:  # fmt: skip
    listening = _Listening(call, on_open, on_reset)
    while True:
        try:
            async with connection.open(listening.call) as response:
                listening.begin()
                async for text in response.aiter_text():
                    for message in listening.feed(text):
                        yield message
        except httpx.TransportError:
            pass
        except ApiError as error:
            listening.fail(error)
        await asyncio.sleep(listening.pause())
