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
import os
import signal
import socket
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
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


# ---- The process at the other end of a handover: identify it, and kill it if it hangs


def is_same_user(end: socket.socket) -> bool:
    """Return whether the other end is a process of this user. Root is a different user.

    If the system does not report the user, the mode of the socket file protects the connection.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    credentials = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", credentials)
    return bool(user == os.geteuid())


def find_process(end: socket.socket) -> int:
    """Return the id of the process that connected to this end; 0 if the system does not report it.

    A process in another container has no id here. Do not call it on the end that connected: there
    the system reports the process that began to listen, which may have ended long ago.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    credentials = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, _, _ = struct.unpack("3i", credentials)
    return int(pid)


def has_open(pid: int, file: Path) -> bool:
    """Return whether a process has a file open; True if the system does not report it.

    A recorded process id may belong to another process now, or to a process in another container.
    """
    if not Path("/proc/self/fd").is_dir():
        return True
    with suppress(OSError):
        return any(_is_same(link, file) for link in Path(f"/proc/{pid}/fd").iterdir())
    return False


def _is_same(descriptor: Path, file: Path) -> bool:
    with suppress(OSError):  # closed meanwhile, or not a file
        return descriptor.samefile(file)
    return False


def end_process(pid: int) -> None:
    """Kill a process, unless it has ended."""
    with suppress(ProcessLookupError, PermissionError):
        if pid > 1:
            os.kill(pid, signal.SIGKILL)
