"""Frames between the server's processes: four bytes of length, then MessagePack.

A frame is a dict. The parent asks by number, a child answers by number, in any order; what a child
says unasked is an event.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec

import bbops.base.errors
from bbops.base.errors import BbopsError, ServerError

MAX_FRAME_BYTES = 64 << 20

_LENGTH_BYTES = 4
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, Any]).decode
_log = logging.getLogger(__name__)

Frame = dict[str, Any]
Handle = Callable[[Frame], Awaitable[Frame]]


class Channel:
    """One end of a socket pair."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._telling: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(cls, end: socket.socket) -> Channel:
        """Take over one end of a `socket.socketpair()`."""
        return cls(*await asyncio.open_unix_connection(sock=end))

    @classmethod
    async def connect(cls, path: str) -> Channel:
        """Connect to a process that listens there. Raises: OSError: none does."""
        return cls(*await asyncio.open_unix_connection(path))

    async def read(self) -> Frame | None:
        """Return the next frame, None when the other process is gone.

        Raises:
            ServerError: what came is no frame.
        """
        try:
            size = int.from_bytes(await self._reader.readexactly(_LENGTH_BYTES), "big")
            if size > MAX_FRAME_BYTES:
                raise _too_large(size)
            return _decode(await self._reader.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        except msgspec.MsgspecError:
            raise ServerError("another process of this server sent what is no frame") from None

    async def write(self, frame: Frame) -> None:
        """Send a frame.

        Raises:
            ServerError: it is larger than MAX_FRAME_BYTES; nothing was sent.
            ConnectionError: the other process is gone.
        """
        self._writer.write(pack(frame))
        await self._writer.drain()

    def tell(self, event: Frame) -> None:
        """Send what nobody asked for, soon; to a process that is gone, nothing."""
        task = asyncio.create_task(self._tell(event))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    @property
    def waiting(self) -> int:
        """How much of what was told the other process has not taken yet."""
        return len(self._telling)

    async def _tell(self, event: Frame) -> None:
        with suppress(ConnectionError):
            await self.write({"event": event})

    async def close(self) -> None:
        """Let the other process read an end."""
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


def pack(frame: Frame) -> bytes:
    """Return a frame with its length before it. Raises: ServerError: it is too large."""
    data = _encode(frame)
    if len(data) > MAX_FRAME_BYTES:
        raise _too_large(len(data))
    return len(data).to_bytes(_LENGTH_BYTES, "big") + data


def read_now(end: socket.socket) -> Frame | None:
    """Return the next frame, None when the other process is gone. Blocks: for no event loop."""
    head = end.recv(_LENGTH_BYTES, socket.MSG_WAITALL)
    size = int.from_bytes(head, "big")
    if len(head) < _LENGTH_BYTES or size > MAX_FRAME_BYTES:
        return None
    data = end.recv(size, socket.MSG_WAITALL)
    return _decode(data) if len(data) == size else None


def _too_large(size: int) -> ServerError:
    return ServerError(f"a frame has {size:,} bytes, expected at most {MAX_FRAME_BYTES:,}")


async def answer_all(channel: Channel, handle: Handle) -> None:
    """Answer requests side by side, each whatever happens to it, until the parent is gone."""
    tasks: set[asyncio.Task[None]] = set()
    while (frame := await channel.read()) is not None:
        task = asyncio.create_task(_answer(channel, handle, frame))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


async def _answer(channel: Channel, handle: Handle, frame: Frame) -> None:
    number = frame["number"]
    with suppress(ConnectionError):
        try:
            answer = await handle(frame["request"])
            await channel.write({"number": number, "answer": answer})
        except ConnectionError:
            raise  # the parent is gone, and with it whoever asked
        except Exception as error:  # noqa: BLE001 - the parent gets an answer to everything
            await channel.write({"number": number, "error": pack_error(error)})


def pack_error(error: Exception) -> list[str]:
    """Return what may cross to another process: kind, message, hint; the log has the rest."""
    if isinstance(error, BbopsError):
        return [type(error).__name__, error.message, error.hint]
    _log.error("unexpected %s", type(error).__name__, exc_info=error)
    message = f"something unexpected went wrong: {type(error).__name__}"
    return ["ServerError", message, "this is a mistake in bbops, the server's log says where"]


def unpack_error(packed: list[str]) -> BbopsError:
    """Return the error that `pack_error` took apart; kinds it does not know become the base."""
    name, message, hint = packed
    kind = getattr(bbops.base.errors, name, BbopsError)
    if not issubclass(kind, BbopsError) or kind is bbops.base.errors.ProjectError:
        kind = BbopsError
    return kind(message, hint=hint)
