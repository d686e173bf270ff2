"""A proxy that cuts streams: `POST /cut` ends every connection that reads a topic."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

_ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"


class _Cutting:
    def __init__(self, url: str) -> None:
        self.port = urlsplit(url).port
        self.reading: set[asyncio.StreamWriter] = set()

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to = await asyncio.open_connection("127.0.0.1", self.port)
        back = asyncio.create_task(self.answer(there, writer))
        with suppress(OSError):
            while data := await reader.read(65_536):
                if data.startswith(b"POST /cut"):
                    self.cut()
                    writer.write(_ANSWER)
                    continue
                if data.startswith(b"GET /~realtime"):
                    self.reading.add(writer)
                to.write(data)
        back.cancel()
        for one in (to, writer):
            one.close()

    async def answer(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await there.read(65_536):
                writer.write(data)
        writer.close()

    def cut(self) -> None:
        for writer in self.reading:
            writer.transport.abort()
        self.reading.clear()


@contextmanager
def cutting(url: str) -> Iterator[str]:
    """Yield the URL of a proxy to a server."""
    loop, proxy = asyncio.new_event_loop(), _Cutting(url)
    server = loop.run_until_complete(asyncio.start_server(proxy.connect, "127.0.0.1", 0))
    port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        loop.call_soon_threadsafe(server.close)
        asyncio.run_coroutine_threadsafe(_end(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
