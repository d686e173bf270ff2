"""Tell of each request once it is answered: what `bbops dev` prints. Nothing else pays for it.

A query is never told, for it may hold secrets; a path is told as the request history has it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

import msgspec

from bbops.runtime.flow.masking import mask_text
from bbops.runtime.http.responses import Trace
from bbops_server.data_plane.live.directory import Directory
from bbops_server.process.messages.channel import ProcessChannel
from bbops_server.process.messages.reports import LinesMissed, MessagePublished, RequestAnswered
from bbops_server.process.messages.request import EventMessage

_LONGEST: Final = 300


class RequestLines:
    """An application in front of the data plane's."""

    def __init__(
        self, app: Callable[..., Any], directory: Directory, channel: ProcessChannel
    ) -> None:
        """`channel` leads to the process that prints."""
        self._app, self._directory, self._channel = app, directory, channel
        self._missed = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, or one event of the server's life."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = perf_counter(), 0

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            self._tell(scope, status, 1000 * (perf_counter() - began))

    def _tell(self, scope: Any, status: int, milliseconds: float) -> None:
        if self._channel.waiting >= MOST_WAITING:
            self._missed += 1
            return
        trace: Trace = scope.get("bbops") or Trace()
        event = RequestAnswered(
            scope["method"], self._mask(scope, trace)[:_LONGEST], status, round(milliseconds, 3),
            trace.code, trace.at, self._missed,
        )  # fmt: skip
        self._missed = 0
        self._channel.post(event)

    def _mask(self, scope: Any, trace: Trace) -> str:
        live = self._directory.only
        if live is None or live.release is None:
            path = mask_text(scope["path"])
        else:
            mask = live.release.answering.mask
            path = mask.text(mask(trace.route, scope))
        return path.encode(errors="backslashreplace").decode()


# ---- Lines on their way to the terminal of `bbops dev`: no more of them wait than it can print

MOST_WAITING: Final = 500
"""Lines that wait for a terminal which is slower than what happens; others are only counted."""


class Lines:
    """What one process reports."""

    def __init__(self, channel: ProcessChannel) -> None:
        """`channel` leads to the process that prints."""
        self._channel, self._missed = channel, 0

    def tell(self, event: EventMessage) -> None:
        """Report something."""
        if self._channel.waiting >= MOST_WAITING:
            self._missed += 1
            return
        if self._missed:
            self._channel.post(LinesMissed(self._missed))
            self._missed = 0
        self._channel.post(event)

    def published(self, topic: str, data: bytes) -> None:
        """Report a message of a topic; what it holds is not told."""
        self.tell(MessagePublished(topic, _NAME(data).event))


class _Message(msgspec.Struct):
    event: str


_NAME: Final = msgspec.json.Decoder(_Message).decode
