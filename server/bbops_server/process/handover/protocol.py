"""The protocol of a handover between two servers: lines of JSON, the first answer with descriptors.

The servers may have different versions, so the protocol is small and does not change:

    new: {"protocol": 1, "do": "take over", "pid": 7}
    old: {"protocol": 1, "pid": 3, "version": "0.1.0"} with `HandoverDescriptors`,
         or {"refused": "reason", "hint": "fix"}
    new: {"do": "give up"}, when it is ready
    old: {"done": "given up"}; it still answers requests to projects, but changes no state
    new: {"do": "leave"}, when it serves
    old: ends; if the new server has ended without "leave", the old server continues
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

PROTOCOL: Final = 1
_MAX_BYTES: Final = 4096

HandoverMessage = dict[str, Any]


class HandoverDescriptors(NamedTuple):
    """The passed descriptors, in this order. Later versions may append descriptors."""

    data: int
    control: int
    lock: int
    handover: int


def send_message(
    end: socket.socket, message: Mapping[str, Any], descriptors: Sequence[int] = ()
) -> None:
    """Send a message. Raises: OSError: the other server has ended."""
    socket.send_fds(end, [json.dumps(message).encode() + b"\n"], list(descriptors))


def receive_descriptors(end: socket.socket) -> tuple[HandoverMessage | None, list[int]]:
    """Return the next message and its descriptors; None at the end. Blocks.

    Raises:
        TimeoutError: no message arrived within the timeout of the connection.
    """
    data, descriptors, _, _ = socket.recv_fds(end, _MAX_BYTES, len(HandoverDescriptors._fields) * 2)
    return _read(data), list(descriptors)


async def receive_message(end: socket.socket) -> HandoverMessage | None:
    """Return the next message; None if the other server has ended, or the message is malformed."""
    with suppress(OSError):
        return _read(await asyncio.get_running_loop().sock_recv(end, _MAX_BYTES))
    return None


def _read(data: bytes) -> HandoverMessage | None:
    with suppress(ValueError):
        message = json.loads(data)
        return message if isinstance(message, dict) else None
    return None
