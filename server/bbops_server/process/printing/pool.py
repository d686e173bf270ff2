"""One browser at a time: two prints at once, renewed now and then, ended when nobody prints."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from bbops_server.process.printing.chromium import BrowserGone, ChromiumProcess
from bbops_server.process.printing.finding import find_problem, find_program
from bbops_server.process.printing.page import PrintFailure

MAX_CONCURRENT: Final = 2
MAX_WAITING: Final = 50
MAX_PRINTS: Final = 200
MAX_MEMORY_BYTES: Final = 1 << 30
"""With more it is replaced once its prints have ended."""
MAX_RUNNING_BYTES: Final = 3 << 30
"""With more it is killed, and with it what it prints."""
WATCH_SECONDS: Final = 0.5
IDLE_SECONDS: Final = 60.0
BUSY: Final = "pdfBusy"


class BrowserPool:
    """The browser of a server, and who waits for it."""

    def __init__(
        self, folder: str, program: str, *, sandbox: bool,
        most_running_bytes: int = MAX_RUNNING_BYTES,
    ) -> None:  # fmt: skip
        """Make one without a browser.

        Args:
            folder: where a browser keeps what it needs while it runs.
            program: its path or name; empty to look for one.
            sandbox: whether it confines its own processes.
            most_running_bytes: with more memory it is killed at once.
        """
        self._folder, self._program, self._sandbox = folder, program, sandbox
        self._most_running = most_running_bytes
        self._watching: asyncio.Task[None] | None = None
        self._free = asyncio.Semaphore(MAX_CONCURRENT)
        self._starting = asyncio.Lock()
        self._browser: ChromiumProcess | None = None
        self._users: dict[ChromiumProcess, int] = {}
        self._waiting = self._prints = self.started = 0

    @property
    def is_used(self) -> bool:
        """Whether somebody prints or waits."""
        return bool(self._waiting or self._users)

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[ChromiumProcess]:
        """Yield the browser for one print, once it is somebody's turn.

        Raises:
            PrintFailure: there is none, or too many wait.
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
                await self._leave(browser)
        finally:
            self._free.release()

    async def _current(self) -> ChromiumProcess:
        async with self._starting:
            browser = self._browser
            if browser is None or browser.is_gone:
                if trouble := find_problem(self._program, sandbox=self._sandbox):
                    raise PrintFailure("addon-needs", trouble)
                found = find_program(self._program)
                browser = ChromiumProcess(found, self._folder, sandbox=self._sandbox)
                try:
                    await browser.start()
                except (BrowserGone, OSError):
                    raise PrintFailure("pdfFailed", "Chromium does not start") from None
                await self._drop()
                self._browser, self._prints, self.started = browser, 0, self.started + 1
            return browser

    async def _watch(self) -> None:
        """Kill a browser whose pages take too much memory while they are printed."""
        while self._users:
            await asyncio.sleep(WATCH_SECONDS)
            for browser in [*self._users]:
                if browser.memory_bytes() > self._most_running:
                    browser.kill()

    async def _leave(self, browser: ChromiumProcess) -> None:
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
        """End a browser that died on its own while nobody used it."""
        browser, self._browser = self._browser, None
        if browser is not None and browser not in self._users:
            await browser.stop()

    async def stop(self) -> None:
        """End it."""
        for browser in {*self._users, *filter(None, [self._browser])}:
            await browser.stop()
        self._browser = None
