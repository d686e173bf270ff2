"""The socket between the work process and data processes, for messages of realtime topics."""

from __future__ import annotations

import shutil
import socket

from bbops_server.process.forks.keeper import make_socket_folder
from bbops_server.process.sockets.binding import BACKLOG


class CenterSocket:
    """A socket of the parent, so that it outlives the work process; connections wait meanwhile."""

    def __init__(self) -> None:
        self._folder = make_socket_folder()
        self.path = str(self._folder / "center")
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(self.path)
        self.listening.listen(BACKLOG)

    def close(self) -> None:
        """Close the socket and remove its folder."""
        self.listening.close()
        shutil.rmtree(self._folder, ignore_errors=True)
