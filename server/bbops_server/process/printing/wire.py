"""Messages between a data process and the printing process. Each print has one connection."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

_LENGTH_BYTES: Final = 4
MAX_MESSAGE_BYTES: Final = 80 << 20
"""The size of a message; a resource of a page is the largest."""


class PrintRequest(msgspec.Struct, frozen=True, tag="Print"):
    """The first message: the page to print. See `bbops.base.doors.Page`."""

    html: str
    url: str
    width: float
    height: float
    landscape: bool
    margins: tuple[float, float, float, float]
    header: str
    footer: str
    selector: str
    seconds: float


class ResourceRequest(msgspec.Struct, frozen=True, tag="Ask"):
    """A request of the page for a resource."""

    number: int
    method: str
    url: str
    headers: dict[str, str]
    is_document: bool


class ResourceResponse(msgspec.Struct, frozen=True, tag="Answer"):
    """The response to a request of the page; status 0 for a rejected request."""

    number: int
    status: int = 0
    headers: dict[str, str] = {}
    body: bytes = b""


class PdfPart(msgspec.Struct, frozen=True, tag="Part"):
    """The next bytes of the file."""

    data: bytes


class PrintDone(msgspec.Struct, frozen=True, tag="Done"):
    """The end of the file."""


class PrintFailed(msgspec.Struct, frozen=True, tag="Failed"):
    """The error of a failed print."""

    code: str
    message: str


PrintMessage = PrintRequest | ResourceRequest | ResourceResponse | PdfPart | PrintDone | PrintFailed
_decode = msgspec.msgpack.Decoder(PrintMessage).decode
_encode = msgspec.msgpack.Encoder().encode


class PrintConnection:
    """One end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(self) -> PrintMessage | None:
        """Return the next message; None if the other end is closed, or it is malformed."""
        try:
            head = await self._reader.readexactly(_LENGTH_BYTES)
            size = int.from_bytes(head, "big")
            return (
                _decode(await self._reader.readexactly(size)) if size <= MAX_MESSAGE_BYTES else None
            )
        except (asyncio.IncompleteReadError, OSError, msgspec.DecodeError):
            return None

    async def write(self, message: PrintMessage) -> None:
        """Send a message. Raises: OSError: the other process has ended."""
        data = _encode(message)
        self._writer.write(len(data).to_bytes(_LENGTH_BYTES, "big"))
        self._writer.write(data)
        await self._writer.drain()

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()
