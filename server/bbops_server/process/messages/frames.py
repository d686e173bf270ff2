"""Frames between processes: four bytes of length, then MessagePack.

The payload stays encoded until `request.py` decodes it, which knows its type.
"""

from __future__ import annotations

import socket
from typing import Final, TypeAlias

import msgspec

from bbops.base.errors import ServerError

MAX_FRAME_BYTES: Final = 64 << 20
LENGTH_BYTES: Final = 4


class _Shape(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """An array that starts with its kind."""


class RequestFrame(_Shape, frozen=True):
    """A request. Its answer has the same number."""

    number: int
    request: msgspec.Raw


class AnswerFrame(_Shape, frozen=True):
    """The answer to a request."""

    number: int
    answer: msgspec.Raw


class ErrorFrame(_Shape, frozen=True):
    """The error of a request: name of its class, message and hint."""

    number: int
    kind: str
    message: str
    hint: str


class EventFrame(_Shape, frozen=True):
    """An event, sent without a request."""

    event: msgspec.Raw


Frame: TypeAlias = RequestFrame | AnswerFrame | ErrorFrame | EventFrame

_encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[Frame] = msgspec.msgpack.Decoder(Frame)


def encode(message: msgspec.Struct) -> msgspec.Raw:
    """Return a message as a frame's payload."""
    return msgspec.Raw(_encode(message))


def pack(frame: Frame) -> bytes:
    """Return a frame with its length. Raises: ServerError: it is too large."""
    data = _encode(frame)
    if len(data) > MAX_FRAME_BYTES:
        raise _too_large(len(data))
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def unpack(data: bytes) -> Frame:
    """Return a frame from its bytes, without the length.

    Raises:
        ServerError: the bytes are not a frame.
    """
    try:
        return _decoder.decode(data)
    except msgspec.MsgspecError:
        raise ServerError("another process of this server sent an invalid frame") from None


def read_size(head: bytes) -> int:
    """Return a frame's length. Raises: ServerError: it is too large."""
    size = int.from_bytes(head, "big")
    if size > MAX_FRAME_BYTES:
        raise _too_large(size)
    return size


def read_now(end: socket.socket) -> Frame | None:
    """Return the next frame, None at the end of the stream. Blocks; not for an event loop.

    Raises:
        ServerError: the bytes are not a frame.
    """
    head = end.recv(LENGTH_BYTES, socket.MSG_WAITALL)
    if len(head) < LENGTH_BYTES:
        return None
    size = read_size(head)
    data = end.recv(size, socket.MSG_WAITALL)
    return unpack(data) if len(data) == size else None


def _too_large(size: int) -> ServerError:
    return ServerError(f"a frame has {size:,} bytes, expected at most {MAX_FRAME_BYTES:,}")
