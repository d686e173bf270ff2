"""Frames between processes: four bytes of length, then MessagePack, which is one of four shapes.

What a frame carries stays encoded: only who knows its type decodes it (`request.py`).
"""

from __future__ import annotations

import socket
from typing import Final, TypeAlias

import msgspec

from bbops.base.errors import ServerError

MAX_FRAME_BYTES: Final = 64 << 20
LENGTH_BYTES: Final = 4


class _Shape(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """An array that begins with its kind."""


class Asked(_Shape, frozen=True):
    """A request; its answer carries the same number."""

    number: int
    request: msgspec.Raw


class Answered(_Shape, frozen=True):
    """The answer to a request."""

    number: int
    answer: msgspec.Raw


class Failed(_Shape, frozen=True):
    """The error that a request ended with: the name of its class, its message and its hint."""

    number: int
    kind: str
    message: str
    hint: str


class Sent(_Shape, frozen=True):
    """An event: nobody asked for it."""

    event: msgspec.Raw


Frame: TypeAlias = Asked | Answered | Failed | Sent

_encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[Frame] = msgspec.msgpack.Decoder(Frame)


def encode(message: msgspec.Struct) -> msgspec.Raw:
    """Return a message as a frame carries it."""
    return msgspec.Raw(_encode(message))


def pack(frame: Frame) -> bytes:
    """Return a frame with its length before it. Raises: ServerError: it is too large."""
    data = _encode(frame)
    if len(data) > MAX_FRAME_BYTES:
        raise _too_large(len(data))
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def unpack(data: bytes) -> Frame:
    """Return the frame that `pack` wrote, without its length.

    Raises:
        ServerError: it is not a frame.
    """
    try:
        return _decoder.decode(data)
    except msgspec.MsgspecError:
        raise ServerError("another process of this server sent an invalid frame") from None


def read_size(head: bytes) -> int:
    """Return the length that a frame begins with. Raises: ServerError: it is too large."""
    size = int.from_bytes(head, "big")
    if size > MAX_FRAME_BYTES:
        raise _too_large(size)
    return size


def read_now(end: socket.socket) -> Frame | None:
    """Return the next frame, None when the other process is gone. Blocks: for no event loop.

    Raises:
        ServerError: what came is not a frame.
    """
    head = end.recv(LENGTH_BYTES, socket.MSG_WAITALL)
    if len(head) < LENGTH_BYTES:
        return None
    size = read_size(head)
    data = end.recv(size, socket.MSG_WAITALL)
    return unpack(data) if len(data) == size else None


def _too_large(size: int) -> ServerError:
    return ServerError(f"a frame has {size:,} bytes, expected at most {MAX_FRAME_BYTES:,}")
