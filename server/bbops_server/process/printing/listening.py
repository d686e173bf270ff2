"""The socket of the printing process, which starts with the first connection."""

from __future__ import annotations

import asyncio
import logging
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from bbops.base.errors import ServerError
from bbops_server.process.children import Child
from bbops_server.process.forks.keeper import make_socket_folder
from bbops_server.process.printing.pool import IDLE_SECONDS

MODULE: Final = "bbops_server.process.printing"
_BACKLOG: Final = 128
_PAUSE_SECONDS: Final = 1.0
_log = logging.getLogger(__name__)


class PrinterSocket:
    """Starts the printing process at a connection, if it is not running."""

    def __init__(self, program: str, *, sandbox: bool, idle_seconds: float = IDLE_SECONDS) -> None:
        self._folder = make_socket_folder()
        mode = "sandbox" if sandbox else "open"
        self._words = (str(self._folder), program, mode, str(idle_seconds))
        self.path = str(self._folder / "printer")
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(self.path)
        self._socket.listen(_BACKLOG)
        self.child: Child | None = None
        self._starting: asyncio.Task[None] | None = None
        self._is_closed = False

    def begin(self) -> None:
        """Start to wait for a connection."""
        if not self._is_closed:
            asyncio.get_running_loop().add_reader(self._socket, self._wake)

    def _wake(self) -> None:
        asyncio.get_running_loop().remove_reader(self._socket)
        self._starting = asyncio.create_task(self._start())

    async def _start(self) -> None:
        try:
            self.child = await Child.start(
                MODULE, fds=(self._socket.fileno(),), words=self._words, nice=5
            )
        except ServerError as error:
            _log.warning("cannot print: %s", error.message)
            self._listen_again()
        else:
            self.child.on_exit(lambda _: self._listen_again())

    def _listen_again(self) -> None:
        self.child = None
        if not self._is_closed:
            asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self.begin)

    async def stop(self) -> None:
        """Stop the printing process, and remove the socket."""
        self._is_closed = True
        asyncio.get_running_loop().remove_reader(self._socket)
        if self._starting is not None:
            await self._starting
        child = self.child
        if child is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(10):
                    await child.leave()
            child.kill()
        self._socket.close()
        shutil.rmtree(self._folder, ignore_errors=True)


@asynccontextmanager
async def run_printer(program: str, *, sandbox: bool) -> AsyncIterator[str]:
    """Yield the path of the socket of a printing process."""
    printer = PrinterSocket(program, sandbox=sandbox)
    printer.begin()
    try:
        yield printer.path
    finally:
        await printer.stop()
