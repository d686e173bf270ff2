"""What two servers say to each other: lines of JSON, the first answer with descriptors.

The two may be of different versions, so this is small, and stays as it is:

    new: {"protocol": 1, "do": "take over", "pid": 7}
    old: {"protocol": 1, "pid": 3, "version": "0.1.0"} and the four descriptors of `Handed`,
         or {"refused": "why", "hint": "cure"}
    new: {"do": "give up"}, once it is ready
    old: {"done": "given up"}; it still answers projects, and changes nothing any more
    new: {"do": "leave"}, once it answers
    old: ends; where the new one has ended without that word, the old one takes all of it back
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
    """The descriptors that are handed over, in this order; a later version may add to them."""

    data: int
    control: int
    lock: int
    handover: int


def send_message(
    end: socket.socket, word: Mapping[str, Any], descriptors: Sequence[int] = ()
) -> None:
    """Say a word. Raises: OSError: the other one has ended."""
    socket.send_fds(end, [json.dumps(word).encode() + b"\n"], list(descriptors))


def receive_descriptors(end: socket.socket) -> tuple[HandoverMessage | None, list[int]]:
    """Return the next word and what came with it; None at the end. Blocks.

    Raises:
        TimeoutError: nothing came in the time that the connection has.
    """
    data, descriptors, _, _ = socket.recv_fds(end, _MAX_BYTES, len(HandoverDescriptors._fields) * 2)
    return _read(data), list(descriptors)


async def receive_message(end: socket.socket) -> HandoverMessage | None:
    """Return the next word; None when the other one has ended, or says what is none."""
    with suppress(OSError):
        return _read(await asyncio.get_running_loop().sock_recv(end, _MAX_BYTES))
    return None


def _read(data: bytes) -> HandoverMessage | None:
    with suppress(ValueError):
        word = json.loads(data)
        return word if isinstance(word, dict) else None
    return None
