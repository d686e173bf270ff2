"""What the process that prints and those that ask it tell each other: one connection a print."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

_LENGTH_BYTES: Final = 4
MAX_MESSAGE_BYTES: Final = 80 << 20
"""Of one message: the largest is a part of a page."""


class PrintRequest(msgspec.Struct, frozen=True, tag="Print"):
    """Print a page: the first message. See `bbops.base.printing.Page`."""

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
    """The page asks for something."""

    number: int
    method: str
    url: str
    headers: dict[str, str]
    is_document: bool


class ResourceResponse(msgspec.Struct, frozen=True, tag="Answer"):
    """What it is given; status 0 for nothing."""

    number: int
    status: int = 0
    headers: dict[str, str] = {}
    body: bytes = b""


class PdfPart(msgspec.Struct, frozen=True, tag="Part"):
    """The next bytes of the file."""

    data: bytes


class PrintDone(msgspec.Struct, frozen=True, tag="Done"):
    """The file is whole."""


class PrintFailed(msgspec.Struct, frozen=True, tag="Failed"):
    """There is no file."""

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
        """Return the next message; None when the other end is gone, or says nonsense."""
        try:
            head = await self._reader.readexactly(_LENGTH_BYTES)
            size = int.from_bytes(head, "big")
            return (
                _decode(await self._reader.readexactly(size)) if size <= MAX_MESSAGE_BYTES else None
            )
        except (asyncio.IncompleteReadError, OSError, msgspec.DecodeError):
            return None

    async def write(self, message: PrintMessage) -> None:
        """Send a message. Raises: OSError: the other end is gone."""
        data = _encode(message)
        self._writer.write(len(data).to_bytes(_LENGTH_BYTES, "big"))
        self._writer.write(data)
        await self._writer.drain()

    def close(self) -> None:
        """Close it."""
        self._writer.close()
