"""One request to a real socket: limits of time and size, and responses that are not followed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from bbops.base.errors import ServerError
from bbops.review.replay.sending import Reply, send

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HEAD = (
    b"HTTP/1.1 200 OK\r\nset-cookie: a=1\r\nset-cookie: b=2\r\ntransfer-encoding: chunked\r\n\r\n"
)


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[str]:
    tasks = set[asyncio.Task[None] | None]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        try:
            await reader.readuntil(b"\r\n\r\n")
            with suppress(ConnectionError, asyncio.CancelledError):
                await serve(reader, writer)
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        for task in filter(None, tasks):
            task.cancel()
        await asyncio.gather(*filter(None, tasks))


def run(serve: Serve, **more: Any) -> Reply:
    async def sent() -> Reply:
        async with serving(serve) as url:
            return await send(url, "GET", (("x-a", "é"),), b"", **more)

    return asyncio.run(sent())


async def trickle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"1\r\na\r\n")
    await writer.drain()
    await asyncio.Event().wait()


async def pour(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD)
    part = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    for _number in range(200):
        writer.write(part)
        await writer.drain()


async def stay_silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    del writer
    await asyncio.Event().wait()


async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"not HTTP\r\n\r\n")


def test_slow_body_is_returned_as_far_as_it_came() -> None:
    reply = run(trickle, timeout_seconds=0.5)
    assert (reply.status, reply.body, reply.is_cut) == (200, b"a", True)
    assert [value for name, value in reply.headers if name == "set-cookie"] == ["a=1", "b=2"]


def test_long_body_is_cut() -> None:
    reply = run(pour, max_bytes=1_000)
    assert (len(reply.body), reply.is_cut) == (1_000, True)


def test_silent_server_is_an_error() -> None:
    with pytest.raises(ServerError, match=r"no response within 0\.2 s"):
        run(stay_silent, timeout_seconds=0.2)


def test_invalid_response_is_an_error() -> None:
    with pytest.raises(ServerError, match="cannot send the request: RemoteProtocolError"):
        run(hang_up)
