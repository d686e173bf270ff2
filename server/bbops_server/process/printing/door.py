"""The printer of a data process, which supplies the resources of pages to the printing process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from bbops.base.doors import Ask, Asked, Page
from bbops.runtime.values.failures import Failure, Unavailable
from bbops.runtime.vendors._work import AddonFailure
from bbops_server.process.printing.pool import BUSY
from bbops_server.process.printing.wire import (
    PdfPart,
    PrintConnection,
    PrintDone,
    PrintFailed,
    PrintRequest,
    ResourceRequest,
    ResourceResponse,
)

_LATE_SECONDS: Final = 90.0
"""Added to the timeout of a print, for earlier prints and the start of the browser."""
_MAX_TRIES: Final = 3
"""The attempts of a print, if the idle printing process ends before the print begins."""


class SocketPrinter:
    """Prints through the socket of the printing process."""

    def __init__(self, path: str) -> None:
        self._path = path

    async def print(self, page: Page, ask: Ask) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a PDF file, see `Printer`."""
        for attempt in range(_MAX_TRIES):
            has_begun = has_ended = False
            async with aclosing(self._try(page, ask)) as parts:
                async for part in parts:
                    if part is None:
                        has_ended = True
                        break
                    has_begun = True
                    yield part
            if not has_ended:
                return
            if has_begun or attempt == _MAX_TRIES - 1:
                raise _gone_error()

    async def _try(self, page: Page, ask: Ask) -> AsyncGenerator[bytes | None, None]:
        """Yield the parts of the file; None if the printing process has ended."""
        try:
            streams = await asyncio.open_unix_connection(self._path, limit=1 << 20)
        except OSError:
            raise _gone_error() from None
        connection, tasks = PrintConnection(*streams), set[asyncio.Task[None]]()
        try:
            async with asyncio.timeout(page.seconds + _LATE_SECONDS):
                await connection.write(_write_request(page))
                while not isinstance(message := await connection.read(), PrintDone):
                    if isinstance(message, ResourceRequest):
                        task = asyncio.create_task(_answer(connection, message, ask))
                        tasks.add(task)
                        task.add_done_callback(tasks.discard)
                    elif isinstance(message, PdfPart):
                        yield message.data
                    elif isinstance(message, PrintFailed):
                        raise _failure(message)
                    else:
                        yield None
                        return
        except TimeoutError:
            raise AddonFailure("pdfTimeout", f"it took longer than {page.seconds:g} s") from None
        except OSError:
            yield None
        finally:
            for task in tasks:
                task.cancel()
            connection.close()


async def _answer(connection: PrintConnection, request: ResourceRequest, ask: Ask) -> None:
    answer = await ask(Asked(request.method, request.url, request.headers, request.is_document))
    response = ResourceResponse(request.number)
    if answer is not None:
        headers = dict(answer.headers)
        response = ResourceResponse(request.number, answer.status, headers, answer.body)
    try:
        await connection.write(response)
    except OSError:
        return  # the print has ended


def _write_request(page: Page) -> PrintRequest:
    return PrintRequest(
        page.html, page.url, page.width, page.height, page.landscape, page.margins, page.header,
        page.footer, page.selector, page.seconds,
    )  # fmt: skip


def _failure(failed: PrintFailed) -> Failure:
    if failed.code == BUSY:
        return Unavailable(BUSY, failed.message, hint="print less at once", retry_seconds=5)
    return AddonFailure(failed.code, failed.message)


def _gone_error() -> Failure:
    return AddonFailure("pdfFailed", "the process that prints has ended")
