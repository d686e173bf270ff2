"""The socket at which the work process meets data processes, for messages of realtime topics."""

from __future__ import annotations

import shutil
import socket

from bbops_server.process.forks.keeper import make_socket_folder
from bbops_server.process.sockets.binding import BACKLOG


class CenterSocket:
    """Made by the parent, so that it outlives the work process: who connects meanwhile waits."""

    def __init__(self) -> None:
        self._folder = make_socket_folder()
        self.path = str(self._folder / "center")
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(self.path)
        self.listening.listen(BACKLOG)

    def close(self) -> None:
        """Remove it."""
        self.listening.close()
        shutil.rmtree(self._folder, ignore_errors=True)
