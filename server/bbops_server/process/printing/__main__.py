"""The printing process: `python -m … CONTROL LISTENING FOLDER PROGRAM SANDBOX IDLE`."""

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

_POLL_SECONDS = 0.25


class PrintServer:
    """Serves connections. Each connection is one print."""

    def __init__(self, pool: BrowserPool) -> None:
        self._pool = pool
        self._busy = 0
        self._used_at = asyncio.get_running_loop().time()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection."""
        connection = PrintConnection(reader, writer)
        self._busy += 1
        try:
            page = await connection.read()
            if isinstance(page, PrintRequest):
                await _PrintJob(self._pool, connection, page).run()
        finally:
            self._busy -= 1
            self._used_at = asyncio.get_running_loop().time()
            connection.close()

    async def until_idle(self, seconds: float) -> None:
        """Return when there was no print for this time."""
        loop = asyncio.get_running_loop()
        while self._busy or loop.time() - self._used_at < seconds:  # noqa: ASYNC110 - it waits for minutes
            await asyncio.sleep(_POLL_SECONDS)


class _PrintJob:
    """One print, for the client at the other end of a connection."""

    def __init__(self, pool: BrowserPool, connection: PrintConnection, page: PrintRequest) -> None:
        self._pool, self._connection, self._page = pool, connection, page
        self._requests: dict[int, asyncio.Future[ResourceResponse]] = {}

    async def run(self) -> None:
        """Print the page; stop early if the client closes the connection."""
        reading = asyncio.create_task(self._read_responses())
        printing = asyncio.create_task(self._print())
        await asyncio.wait({reading, printing}, return_when=asyncio.FIRST_COMPLETED)
        for task in (printing, reading):
            task.cancel()
            with suppress(asyncio.CancelledError, OSError):
                await task

    async def _read_responses(self) -> None:
        while isinstance(response := await self._connection.read(), ResourceResponse):
            future = self._requests.pop(response.number, None)
            if future is not None and not future.done():
                future.set_result(response)

    async def _supply(self, request: ResourceRequest) -> ResourceResponse:
        future: asyncio.Future[ResourceResponse] = asyncio.get_running_loop().create_future()
        self._requests[request.number] = future
        await self._connection.write(request)
        return await future

    async def _print(self) -> None:
        try:
            async with (
                self._pool.borrow() as browser,
                asyncio.timeout(self._page.seconds),
                aclosing(print_page(browser, self._page, self._supply)) as parts,
            ):
                async for part in parts:
                    await self._connection.write(PdfPart(part))
            await self._connection.write(PrintDone())
        except PrintFailure as failure:
            await self._connection.write(PrintFailed(failure.code, failure.message))
        except TimeoutError:
            seconds = f"{self._page.seconds:g} s"
            await self._connection.write(
                PrintFailed("pdfTimeout", f"the page took longer than {seconds}")
            )
        except BrowserGone:
            await self._connection.write(
                PrintFailed("pdfFailed", "the browser has ended while it printed")
            )
        except BrowserError as error:
            await self._connection.write(
                PrintFailed("pdfFailed", f"the browser cannot print this: {error}")
            )


async def _run(control: int, listening: int, pool: BrowserPool, idle: float) -> None:
    for inherited in (control, listening):
        os.set_inheritable(inherited, False)  # noqa: FBT003 - its signature
    print_server = PrintServer(pool)
    parent, _ = await asyncio.open_unix_connection(sock=socket.socket(fileno=control))
    server = await asyncio.start_unix_server(
        print_server.serve, sock=socket.socket(fileno=listening), limit=1 << 20
    )
    parent_ends = asyncio.create_task(parent.read())
    becomes_idle = asyncio.create_task(print_server.until_idle(idle))
    await asyncio.wait({parent_ends, becomes_idle}, return_when=asyncio.FIRST_COMPLETED)
    server.close()
    await pool.stop()
    os._exit(0)  # connected clients retry


if __name__ == "__main__":
    _control, _listening, _folder, _program, _sandbox, _idle = sys.argv[1:]
    _pool = BrowserPool(_folder, _program, sandbox=_sandbox == "sandbox")
    asyncio.run(_run(int(_control), int(_listening), _pool, float(_idle)))
