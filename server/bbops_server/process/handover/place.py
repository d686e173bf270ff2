"""The socket for handover requests: a file in the state folder that only its user can open."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

NAME: Final = "handover"
_MAX_PATH: Final = 100
"""The longest path of a socket in bytes; systems allow 104 and 108."""
_BACKLOG: Final = 8


def listen(state: Path) -> socket.socket:
    """Return a socket that listens in a state folder, and replace an old socket file.

    Raises:
        OSError: the file system does not support sockets, or cannot be written.
    """
    listening = socket.socket(socket.AF_UNIX)
    try:
        (state / NAME).unlink(missing_ok=True)
        with _short_path(state) as path:
            listening.bind(path)
        (state / NAME).chmod(0o600)  # clients cannot connect before `listen`
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    listening.setblocking(False)  # noqa: FBT003 - its only argument
    return listening


def connect(state: Path, seconds: float) -> socket.socket:
    """Connect to the server of a state folder. `seconds` is the timeout of each later call.

    Raises:
        OSError: no server listens there.
    """
    end = socket.socket(socket.AF_UNIX)
    end.settimeout(seconds)
    try:
        with _short_path(state) as path:
            end.connect(path)
    except OSError:
        end.close()
        raise
    return end


def remove(state: Path) -> None:
    """Remove the socket file."""
    with suppress(OSError):
        (state / NAME).unlink()


@contextmanager
def _short_path(state: Path) -> Iterator[str]:
    """Yield a path of the socket that is short enough, if needed through a temporary link.

    The link is only needed while binding or connecting.
    """
    path = str(state / NAME)
    if len(os.fsencode(path)) <= _MAX_PATH:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="bbops-", dir="/tmp") as folder:
        link = Path(folder) / "state"
        link.symlink_to(state.absolute())
        yield str(link / NAME)
