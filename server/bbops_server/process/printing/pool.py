"""The browser of a printing process: it prints two pages at a time, and is replaced regularly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

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
