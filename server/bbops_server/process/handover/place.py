"""Where a server can be asked to hand over: a socket in its state folder, for its user alone."""

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
"""Bytes in the path of a socket; systems allow 104 and 108."""
_BACKLOG: Final = 8


def listen(state: Path) -> socket.socket:
    """Return a socket that listens in a state folder, in the place of one that was left there.

    Raises:
        OSError: the file system has no sockets, or cannot be written.
    """
    listening = socket.socket(socket.AF_UNIX)
    try:
        (state / NAME).unlink(missing_ok=True)
        with _short_path(state) as path:
            listening.bind(path)
        (state / NAME).chmod(0o600)  # before it listens nobody can connect
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    listening.setblocking(False)  # noqa: FBT003 - its only argument
    return listening


def connect(state: Path, seconds: float) -> socket.socket:
    """Return a connection to the server of a state folder; each of its calls may take so long.

    Raises:
        OSError: nobody listens there.
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
    """Remove the socket of a server that ends."""
    with suppress(OSError):
        (state / NAME).unlink()


@contextmanager
def _short_path(state: Path) -> Iterator[str]:
    """Yield a path of the socket that is short enough: through a link, where the folder's is not.

    The link is needed only while a socket is bound, or a connection is made.
    """
    path = str(state / NAME)
    if len(os.fsencode(path)) <= _MAX_PATH:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="bbops-", dir="/tmp") as folder:
        link = Path(folder) / "state"
        link.symlink_to(state.absolute())
        yield str(link / NAME)
