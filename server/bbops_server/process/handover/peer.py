"""Who is at the other end of a handover, and how one that hangs is ended."""

from __future__ import annotations

import os
import signal
import socket
import struct
from contextlib import suppress
from pathlib import Path


def is_same_user(end: socket.socket) -> bool:
    """Return whether the other end is a process of this user; root is another one.

    Where the system does not say, the mode of the socket has decided that already.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    told = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", told)
    return bool(user == os.geteuid())


def find_process(end: socket.socket) -> int:
    """Return the process that connected to this end, as the system says; 0 where it does not.

    One of another container has no number here. Not for the end that connected: there the system
    says who began to listen, which may have been a server long ago.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    told = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, _, _ = struct.unpack("3i", told)
    return int(pid)


def has_open(pid: int, file: Path) -> bool:
    """Return whether a process has a file open; True where the system does not say.

    A number that was written down may be that of another process by now, or in another container.
    """
    if not Path("/proc/self/fd").is_dir():
        return True
    with suppress(OSError):
        return any(_is_same(one, file) for one in Path(f"/proc/{pid}/fd").iterdir())
    return False


def _is_same(descriptor: Path, file: Path) -> bool:
    with suppress(OSError):  # closed meanwhile, or no file
        return descriptor.samefile(file)
    return False


def end_process(pid: int) -> None:
    """Kill a process, if it is there still."""
    with suppress(ProcessLookupError, PermissionError):
        if pid > 1:
            os.kill(pid, signal.SIGKILL)
