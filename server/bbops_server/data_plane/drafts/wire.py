"""How a request crosses to the process of a draft, and its answer back: frames, each bounded.

What comes from there is not trusted: it is one of these frames, or nothing.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

PIECE_BYTES: Final = 64 << 10
"""Of a body that cross together."""

MOST_FRAME_BYTES: Final = 256 << 10
"""Of a frame; a head is smaller, and its headers were counted."""

_LENGTH_BYTES: Final = 4
_LINGER_SECONDS: Final = 5.0

Pairs = Annotated[list[tuple[bytes, bytes]], Meta(max_length=200)]


class Head(Struct, frozen=True, array_like=True, tag="head"):
    """What is asked.

    Attributes:
        leads: whether a page of the frontend is to be opened elsewhere: then `Lead` answers.
        is_socket: a websocket is to begin: then `Accept` answers, and texts cross both ways.
    """

    method: str
    path: str
    raw_path: bytes
    query: bytes
    root_path: str
    headers: Pairs
    client: tuple[str, int] | None
    scheme: str
    leads: bool
    is_socket: bool = False


class Part(Struct, frozen=True, array_like=True, tag="part"):
    """A part of a body; nothing follows where there is no `more`."""

    data: bytes
    more: bool


class Start(Struct, frozen=True, array_like=True, tag="start"):
    """Status and headers of an answer."""

    status: Annotated[int, Meta(ge=200, le=599)]
    headers: Pairs


class Lead(Struct, frozen=True, array_like=True, tag="lead"):
    """Instead of an answer: this is a page of the frontend."""


class Accept(Struct, frozen=True, array_like=True, tag="accept"):
    """The websocket begins."""


class Text(Struct, frozen=True, array_like=True, tag="text"):
    """A piece of a websocket's message; nothing follows where there is no `more`."""

    data: bytes
    more: bool


class Close(Struct, frozen=True, array_like=True, tag="close"):
    """The websocket ends."""

    code: Annotated[int, Meta(ge=1000, le=4999)]
    reason: Annotated[str, Meta(max_length=120)]


Frame = Head | Part | Start | Lead | Accept | Text | Close
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Frame).decode


class Wire:
    """One end of the connection of one request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._reading = asyncio.Lock()

    @classmethod
    async def connect(cls, path: str) -> Wire:
        """Connect to the process that listens there. Raises: OSError: none does."""
        return cls(*await asyncio.open_unix_connection(path))

    async def read(self) -> Any:
        """Return the next frame; None at the end, and where what comes is no frame."""
        async with self._reading:  # one that watches for a disconnect may wait here already
            return await self._read()

    async def _read(self) -> Any:
        try:
            size = int.from_bytes(await self._reader.readexactly(_LENGTH_BYTES), "big")
            if size <= MOST_FRAME_BYTES:
                return _decode(await self._reader.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError, msgspec.MsgspecError):
            pass
        return None

    async def write(self, frame: Frame) -> None:
        """Send a frame. Raises: ConnectionError: the other end is gone."""
        data = _encode(frame)
        self._writer.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)
        await self._writer.drain()

    async def write_body(self, data: bytes, *, more: bool) -> None:
        """Send a part of a body in pieces. Raises as `write`."""
        last = max(0, len(data) - 1) // PIECE_BYTES * PIECE_BYTES
        for at in range(0, last, PIECE_BYTES):
            await self.write(Part(data[at : at + PIECE_BYTES], more=True))
        await self.write(Part(data[last:], more=more))

    async def write_message(self, text: str) -> None:
        """Send a websocket's message in pieces. Raises as `write`."""
        data = text.encode()
        last = max(0, len(data) - 1) // PIECE_BYTES * PIECE_BYTES
        for at in range(0, last, PIECE_BYTES):
            await self.write(Text(data[at : at + PIECE_BYTES], more=True))
        await self.write(Text(data[last:], more=False))

    async def linger(self) -> None:
        """Read what still comes, until the other end has closed, and for some seconds at most.

        To close with a body unread would take along the answer that is on its way.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_SECONDS):
                while await self.read() is not None:
                    pass

    def close(self) -> None:
        """Let the other end read an end, behind what was written."""
        self._writer.close()

    def abort(self) -> None:
        """End at once."""
        self._writer.transport.abort()


# ---- Pass a request on to the process of a draft, and its answer back, as each side can take it

Outcome = Literal["answered", "leads", "gone", "absent"]
"""How it went.

`leads`: it is a page of the frontend. `gone`: the process ended before its answer began. `absent`:
there is none, and nothing was sent.
"""


class CutOff(Exception):
    """The process of a draft ended while it answered: the client sees that something is missing."""


async def pass_on(socket: str, scope: Any, receive: Any, send: Any, *, leads: bool) -> Outcome:
    """Answer a request by the process that listens at `socket`.

    Raises:
        CutOff: it ended halfway through its answer.
    """
    try:
        wire = await Wire.connect(socket)
    except OSError:
        return "absent"
    pumping = asyncio.create_task(_send_body(wire, receive))
    try:
        with suppress(ConnectionError):
            await wire.write(head_of(scope, scope["method"], leads=leads))
        return await _take_answer(wire, send, pumping)
    finally:
        pumping.cancel()
        wire.abort()


def head_of(scope: Any, method: str, *, leads: bool = False, is_socket: bool = False) -> Head:
    """Return a request as it crosses."""
    client = scope.get("client")
    return Head(
        method, scope["path"], scope["raw_path"], scope["query_string"],
        scope["root_path"], list(scope["headers"]),
        (str(client[0]), int(client[1])) if client else None, scope["scheme"], leads, is_socket,
    )  # fmt: skip


async def _send_body(wire: Wire, receive: Any) -> None:
    """Send what the client sends, until it leaves: then the process hears an end."""
    with suppress(ConnectionError):
        while (message := await receive())["type"] != "http.disconnect":
            await wire.write_body(message.get("body", b""), more=bool(message.get("more_body")))
    wire.close()


async def _take_answer(wire: Wire, send: Any, pumping: asyncio.Task[None]) -> Outcome:
    has_begun = False
    while True:
        frame = await wire.read()
        if isinstance(frame, Start) and not has_begun:
            has_begun = True
            start = {"status": frame.status, "headers": frame.headers}
            await send({"type": "http.response.start", **start})
        elif isinstance(frame, Part) and has_begun:
            part = {"body": frame.data, "more_body": frame.more}
            await send({"type": "http.response.body", **part})
            if not frame.more:
                return "answered"
        elif isinstance(frame, Lead) and not has_begun:
            return "leads"
        elif pumping.done():
            return "answered"  # the client has left
        elif has_begun:
            raise CutOff
        else:
            return "gone"
