"""The socket and the browser of the printing process."""

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
from bbops_server.process.printing.chromium import (
    BrowserGone,
    ChromiumProcess,
    find_problem,
    find_program,
)
from bbops_server.process.printing.page import PrintFailure

MAX_CONCURRENT: Final = 2
MAX_WAITING: Final = 50
MAX_PRINTS: Final = 200
MAX_MEMORY_BYTES: Final = 1 << 30
"""A larger browser is replaced after its prints."""
MAX_RUNNING_BYTES: Final = 3 << 30
"""A larger browser is killed, and its prints fail."""
WATCH_SECONDS: Final = 0.5
IDLE_SECONDS: Final = 60.0
BUSY: Final = "pdfBusy"


class BrowserPool:
    """A browser, and the prints that wait for it."""

    def __init__(
        self, folder: str, program: str, *, sandbox: bool,
        max_running_bytes: int = MAX_RUNNING_BYTES,
    ) -> None:  # fmt: skip
        """Create a pool; the first print starts the browser.

        Args:
            folder: the parent of the browser's temporary folder.
            program: the path or name of the browser; empty to search for it.
            sandbox: the browser uses its sandbox.
            max_running_bytes: a browser with more memory is killed.
        """
        self._folder, self._program, self._sandbox = folder, program, sandbox
        self._max_running = max_running_bytes
        self._watching: asyncio.Task[None] | None = None
        self._free = asyncio.Semaphore(MAX_CONCURRENT)
        self._starting = asyncio.Lock()
        self._browser: ChromiumProcess | None = None
        self._users: dict[ChromiumProcess, int] = {}
        self._waiting = self._prints = self.started = 0

    @property
    def is_used(self) -> bool:
        """Whether a print is running or waiting."""
        return bool(self._waiting or self._users)

    @asynccontextmanager
    async def borrow(self) -> AsyncIterator[ChromiumProcess]:
        """Wait for a free slot, and yield the browser for a print.

        Raises:
            PrintFailure: there is no browser, or too many prints wait.
        """
        if self._waiting >= MAX_WAITING:
            raise PrintFailure(BUSY, f"{MAX_WAITING} prints wait already")
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            browser = await self._current()
            self._users[browser] = self._users.get(browser, 0) + 1
            if self._watching is None or self._watching.done():
                self._watching = asyncio.create_task(self._watch())
            try:
                yield browser
            finally:
                await self._return(browser)
        finally:
            self._free.release()

    async def _current(self) -> ChromiumProcess:
        async with self._starting:
            browser = self._browser
            if browser is None or browser.is_gone:
                if problem := find_problem(self._program, sandbox=self._sandbox):
                    raise PrintFailure("addon-needs", problem)
                program = find_program(self._program)
                browser = ChromiumProcess(program, self._folder, sandbox=self._sandbox)
                try:
                    await browser.start()
                except (BrowserGone, OSError):
                    raise PrintFailure("pdfFailed", "Chromium does not start") from None
                await self._drop()
                self._browser, self._prints, self.started = browser, 0, self.started + 1
            return browser

    async def _watch(self) -> None:
        """Kill a browser that uses too much memory during a print."""
        while self._users:
            await asyncio.sleep(WATCH_SECONDS)
            for browser in [*self._users]:
                if browser.memory_bytes() > self._max_running:
                    browser.kill()

    async def _return(self, browser: ChromiumProcess) -> None:
        self._users[browser] -= 1
        is_last = not self._users[browser]
        if is_last:
            del self._users[browser]
        self._prints += browser is self._browser
        is_old = self._prints >= MAX_PRINTS or browser.memory_bytes() > MAX_MEMORY_BYTES
        if browser is self._browser and (browser.is_gone or is_old):
            self._browser = None
        if is_last and browser is not self._browser:
            await browser.stop()

    async def _drop(self) -> None:
        """Clean up after an unused browser that has ended."""
        browser, self._browser = self._browser, None
        if browser is not None and browser not in self._users:
            await browser.stop()

    async def stop(self) -> None:
        """Stop all browsers."""
        for browser in {*self._users, *filter(None, [self._browser])}:
            await browser.stop()
        self._browser = None


# ---- The socket of the printing process, which starts with the first connection

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
