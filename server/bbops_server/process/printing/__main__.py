"""The process that prints: `python -m … CONTROL LISTENING FOLDER PROGRAM SANDBOX IDLE`."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from contextlib import aclosing, suppress

from bbops_server.process.printing.chromium import BrowserError, BrowserGone
from bbops_server.process.printing.page import PrintFailure, print_page
from bbops_server.process.printing.pool import BrowserPool
from bbops_server.process.printing.wire import (
    PdfPart,
    PrintConnection,
    PrintDone,
    PrintFailed,
    PrintRequest,
    ResourceRequest,
    ResourceResponse,
)

_LOOK_SECONDS = 0.25


class Printing:
    """Answers connections, each of which is one print."""

    def __init__(self, pool: BrowserPool) -> None:
        self._pool = pool
        self._busy = 0
        self._used_at = asyncio.get_running_loop().time()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        wire = PrintConnection(reader, writer)
        self._busy += 1
        try:
            page = await wire.read()
            if isinstance(page, PrintRequest):
                await _Job(self._pool, wire, page).run()
        finally:
            self._busy -= 1
            self._used_at = asyncio.get_running_loop().time()
            wire.close()

    async def until_idle(self, seconds: float) -> None:
        """Return once nobody has printed for so long."""
        loop = asyncio.get_running_loop()
        while self._busy or loop.time() - self._used_at < seconds:  # noqa: ASYNC110 - of minutes
            await asyncio.sleep(_LOOK_SECONDS)


class _Job:
    """One print, for whoever holds the other end of a connection."""

    def __init__(self, pool: BrowserPool, wire: PrintConnection, page: PrintRequest) -> None:
        self._pool, self._wire, self._page = pool, wire, page
        self._asked: dict[int, asyncio.Future[ResourceResponse]] = {}

    async def run(self) -> None:
        """Print; end early when nobody waits for it any more."""
        hearing = asyncio.create_task(self._hear())
        printing = asyncio.create_task(self._print())
        await asyncio.wait({hearing, printing}, return_when=asyncio.FIRST_COMPLETED)
        for task in (printing, hearing):
            task.cancel()
            with suppress(asyncio.CancelledError, OSError):
                await task

    async def _hear(self) -> None:
        while isinstance(answer := await self._wire.read(), ResourceResponse):
            future = self._asked.pop(answer.number, None)
            if future is not None and not future.done():
                future.set_result(answer)

    async def _supply(self, ask: ResourceRequest) -> ResourceResponse:
        future: asyncio.Future[ResourceResponse] = asyncio.get_running_loop().create_future()
        self._asked[ask.number] = future
        await self._wire.write(ask)
        return await future

    async def _print(self) -> None:
        try:
            async with (
                self._pool.taken() as browser,
                asyncio.timeout(self._page.seconds),
                aclosing(print_page(browser, self._page, self._supply)) as parts,
            ):
                async for part in parts:
                    await self._wire.write(PdfPart(part))
            await self._wire.write(PrintDone())
        except PrintFailure as failure:
            await self._wire.write(PrintFailed(failure.code, failure.message))
        except TimeoutError:
            seconds = f"{self._page.seconds:g} s"
            await self._wire.write(
                PrintFailed("pdfTimeout", f"the page took longer than {seconds}")
            )
        except BrowserGone:
            await self._wire.write(
                PrintFailed("pdfFailed", "the browser has ended while it printed")
            )
        except BrowserError as error:
            await self._wire.write(
                PrintFailed("pdfFailed", f"the browser cannot print this: {error}")
            )


async def _run(control: int, listening: int, pool: BrowserPool, idle: float) -> None:
    for inherited in (control, listening):
        os.set_inheritable(inherited, False)  # noqa: FBT003 - its signature
    printing = Printing(pool)
    parent, _ = await asyncio.open_unix_connection(sock=socket.socket(fileno=control))
    server = await asyncio.start_unix_server(
        printing.serve, sock=socket.socket(fileno=listening), limit=1 << 20
    )
    ended = asyncio.create_task(parent.read())  # until the server has ended
    rested = asyncio.create_task(printing.until_idle(idle))
    await asyncio.wait({ended, rested}, return_when=asyncio.FIRST_COMPLETED)
    server.close()
    await pool.stop()
    os._exit(0)  # whoever is connected now begins anew


if __name__ == "__main__":
    _control, _listening, _folder, _program, _sandbox, _idle = sys.argv[1:]
    _pool = BrowserPool(_folder, _program, sandbox=_sandbox == "sandbox")
    asyncio.run(_run(int(_control), int(_listening), _pool, float(_idle)))
