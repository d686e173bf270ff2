"""What tests of htmlToPdf share: a process that prints, and what is in a file of it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any, cast

from bbops.base.host import Http
from bbops.compiler.testing.host import KeptFolder, fake_host
from bbops.runtime.vendors._work import Terms, Work
from bbops.runtime.vendors.html_to_pdf import STEPS
from bbops_server.process.printing.door import SocketPrinter
from bbops_server.process.printing.listening import PrinterSocket

SANDBOX = os.geteuid() != 0
"""Whether Chromium can confine itself: not for root."""


@dataclass
class Printing:
    """A process that prints, as a server has one."""

    listening: PrinterSocket
    loop: asyncio.AbstractEventLoop

    @property
    def path(self) -> str:
        """The socket."""
        return self.listening.path

    @property
    def pid(self) -> int:
        """The process behind it; 0 for none."""
        return self.listening.child.pid if self.listening.child else 0

    async def step(
        self, name: str, given: dict[str, Any], http: Http, seconds: float = 60
    ) -> bytes:
        """Return the file that a step makes."""
        folder = KeptFolder()
        host = replace(
            fake_host(cast("Any", None), http=http), printer=SocketPrinter(self.path), addons=None
        )
        work = Work("htmlToPdf", host, {}, folder, Terms(repeats=True, seconds=seconds))
        made = await STEPS[name](work, {"outputPath": "a.pdf", **given})
        found = await folder.read("a.pdf", 0, 100_000_000)
        assert made == {"path": "a.pdf", "size": len(found)}
        return found


@contextmanager
def printing(program: str = "", *, sandbox: bool = SANDBOX, idle: float = 60) -> Iterator[Printing]:
    """Give a process that prints."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def begin() -> PrinterSocket:
        found = PrinterSocket(program, sandbox=sandbox, idle_seconds=idle)
        found.begin()
        return found

    found = asyncio.run_coroutine_threadsafe(begin(), loop).result(60)
    try:
        yield Printing(found, loop)
    finally:
        asyncio.run_coroutine_threadsafe(found.stop(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page of a file: its size in points, its text, and its words with their boxes."""

    width: float
    height: float
    text: str
    words: list[dict[str, Any]]

    def word(self, text: str) -> dict[str, Any]:
        """Return the first word of a text."""
        return next(one for one in self.words if one["text"] == text)


def read(data: bytes) -> list[Sheet]:
    """Return the pages of a file."""
    import pdfplumber  # noqa: PLC0415 - half a second

    with pdfplumber.open(BytesIO(data)) as pdf:
        return [
            Sheet(float(one.width), float(one.height), one.extract_text(), one.extract_words())
            for one in pdf.pages
        ]
