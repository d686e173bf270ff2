"""Answers of vendors that come piece by piece: their server-sent events, read as they come.

Source: the HTML standard, "Server-sent events".
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec

from bbops.base.doors import OpenResponse
from bbops.base.host import HttpResponse
from bbops.runtime.values.failures import Failure, HttpFailure
from bbops.runtime.values.outside import MOST_WORDS, Refusal
from bbops.runtime.vendors._work import AddonFailure, ReadRefusal, Work, read_json, write_json

MOST_EVENT_BYTES: Final = 1 << 20
MOST_REFUSAL_BYTES: Final = 1 << 20
EVENTS: Final = "text/event-stream"
_LINE: Final = re.compile(rb"\r\n|\n|\r(?!\Z)")
_ODD: Final = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What events raise that are not of a vendor's form."""
_decode = msgspec.json.Decoder().decode

Begin = Callable[[Work, Mapping[str, Any]], Awaitable["VendorPieces"]]
"""Begins a step whose answer comes piece by piece; it is given the parameters that are not null."""


class VendorEvents(Protocol):
    """What the events of one vendor mean. Knows of no connection."""

    is_whole: bool
    """Whether the answer has ended as the vendor ends one."""

    def take(self, event: str, data: str) -> str:
        """Return the text of an event; empty where it has none.

        Raises:
            BrokenOff: the vendor says that it cannot go on.
            ValueError: this is no event of the vendor's.
        """
        ...

    def end(self) -> None:
        """Take note that nothing more comes."""
        ...

    def result(self) -> Any:
        """Return what the vendor would have answered as a whole."""
        ...


class BrokenOff(Exception):
    """A vendor says in the middle of its answer that it cannot go on."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__()
        self.refusal = refusal


class EventLines:
    """Makes events of bytes, wherever these were cut."""

    __slots__ = ("_event", "_lines", "_rest", "_size")

    def __init__(self) -> None:
        self._rest, self._event, self._size = b"", "", 0
        self._lines: list[str] = []

    def feed(self, data: bytes) -> Iterator[tuple[str, str]]:
        """Yield (name or "", data) of each event that is whole now.

        Raises:
            ValueError: it is larger than any, or not UTF-8.
        """
        *lines, self._rest = _LINE.split(self._rest + data)
        if len(self._rest) + self._size > MOST_EVENT_BYTES:
            raise ValueError("an event is too large")
        for line in lines:
            if line:
                self._take(line.decode())
            else:
                if self._lines:
                    yield self._event, "\n".join(self._lines)
                self._event, self._size = "", 0
                self._lines = []

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._event = value
        elif name == "data":
            self._lines.append(value)
            self._size += len(value)
            if self._size > MOST_EVENT_BYTES:
                raise ValueError("an event is too large")


class VendorPieces:
    """A vendor's answer under way; what nobody reads waits at the vendor."""

    def __init__(self, work: Work, url: str, answer: OpenResponse, events: VendorEvents) -> None:
        self._work, self._host, self._answer = work, urlsplit(url).hostname, answer
        self._events, self._lines = events, EventLines()
        self._broken: Failure | None = None

    async def read(self) -> list[str] | None:
        """Return the texts that have come since, once something has; None at the end.

        Raises:
            HttpFailure: it breaks off, or ends early.
            AddonFailure: `addon-answer`, what comes is not the vendor's form.
        """
        if self._broken is not None:
            raise self._broken
        if self._events.is_whole:
            return None
        data = await self._answer.read()
        if not data:
            self._events.end()
            if not self._events.is_whole:
                message = f"'{self._host}' ended its answer in the middle"
                raise HttpFailure("httpUnreachable", message, is_sent=True)
            return None
        texts: list[str] = []
        try:
            for one in self._lines.feed(data):
                if text := self._events.take(*one):  # a TypeError where it is no text
                    texts.append(str.__str__(text))  # noqa: PERF401 - those before a break count
        except BrokenOff as broken:
            self._broken = self._failure(broken.refusal)
        except _ODD:
            self._broken = self._unexpected()
        if self._broken is not None and not texts:
            raise self._broken
        return texts  # those before the break first

    def result(self) -> Any:
        """Return what the step would have returned as a whole; only at the end.

        Raises:
            AddonFailure: `addon-answer`, what came does not make one.
        """
        try:
            return self._events.result()
        except _ODD:
            raise self._unexpected() from None

    def _unexpected(self) -> AddonFailure:
        message = f"'{self._host}' answered with events that are not of its form"
        return AddonFailure("addon-answer", message)

    async def close(self) -> None:
        """End the request, also in the middle."""
        await self._answer.close()

    def _failure(self, refusal: Refusal) -> HttpFailure:
        said, reason = map(self._work.without_secrets, (refusal.said, refusal.reason))
        words = f": {said[:MOST_WORDS]}" if isinstance(said, str) and said else ""
        return HttpFailure(
            "httpFailed", f"'{self._host}' broke off its answer{words}", reason=reason, is_sent=True
        )  # fmt: skip


async def begin_pieces(
    work: Work, url: str, headers: Mapping[str, str], body: Any, events: VendorEvents, *,
    refusal: ReadRefusal,
) -> VendorPieces:  # fmt: skip
    """Ask the vendor for an answer piece by piece; return it once it has begun.

    Args:
        work: the step.
        url: what is asked, by POST.
        headers: its keys among them.
        body: what is sent as JSON.
        events: reads the vendor's events.
        refusal: reads an answer that is not a good one.

    Raises:
        HttpFailure: there is no answer, or not a good one.
        AddonFailure: `addon-answer`, it does not come piece by piece.
        Unavailable: as many answers are open as may be.
    """
    if work.host.streams is None:
        raise HttpFailure("httpRefused", "outbound requests are not allowed here")
    sent = {
        "content-type": "application/json", "accept": EVENTS, "accept-encoding": "identity",
        **headers,
    }  # fmt: skip
    request = work.request("POST", url, sent, write_json(body))
    try:
        answer = await work.host.streams.open(request)
    except HttpFailure as failure:
        failure.repeats = work.terms.repeats
        raise
    try:
        await _require_events(work, url, answer, refusal)
    except BaseException:
        await answer.close()
        raise
    return VendorPieces(work, url, answer, events)


async def _require_events(
    work: Work, url: str, answer: OpenResponse, refusal: ReadRefusal
) -> None:  # fmt: skip
    if not 200 <= answer.status <= 299:
        whole = HttpResponse(answer.status, answer.headers, await _refused(answer))
        raise work.failure(url, whole, refusal(whole, read_json(whole)))
    if not answer.headers.get("content-type", "").lower().startswith(EVENTS):
        host = urlsplit(url).hostname
        message = f"'{host}' answered {answer.status} with something that is not '{EVENTS}'"
        raise AddonFailure("addon-answer", message)


async def _refused(answer: OpenResponse) -> bytes:
    """Return the body of an answer that is not a good one; of a long one, the beginning."""
    parts, size = [], 0
    while size < MOST_REFUSAL_BYTES and (part := await answer.read()):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def read_data(data: str) -> dict[str, Any]:
    """Return the data of an event, which is a map.

    Raises:
        ValueError: it is something else.
    """
    found = _decode(data)  # its error is a ValueError
    if not isinstance(found, dict):
        raise ValueError("not a map")  # noqa: TRY004 - as of what is no JSON
    return found
