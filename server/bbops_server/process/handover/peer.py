"""The process at the other end of a handover: identify it, and kill it if it hangs."""

from __future__ import annotations

import os
import signal
import socket
import struct
from contextlib import suppress
from pathlib import Path


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
