"""The bound of a request's head, on a real connection."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from bbops_server.serving import MAX_HEAD_BYTES, Server

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HEAD = b"POST / HTTP/1.1\r\nhost: localhost\r\n"


async def count(scope: Any, receive: Any, send: Any) -> None:
    """Answer how many bytes the body has."""
    if scope["type"] == "lifespan":
        while True:
            kind = (await receive())["type"]
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return
    size, is_more = 0, True
    while is_more:
        message = await receive()
        size, is_more = size + len(message["body"]), message["more_body"]
    body = msgspec.json.encode(size)
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def talk(conversation: Talk) -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as bound:
            server = Server(count)
            server.start(bound)
            reader, writer = await asyncio.open_connection(*bound.getsockname())
            await conversation(reader, writer)
            writer.close()
            await server.stop(1)

    asyncio.run(main())


async def answer(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return head[9:12], await reader.readexactly(int(length))


def test_a_head_without_end_is_refused() -> None:
    async def conversation(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        for _ in range(MAX_HEAD_BYTES // 32_000 + 2):
            writer.write(b"x: " + b"y" * 32_000 + b"\r\n")
            await asyncio.sleep(0.01)
        assert (await answer(reader))[0] == b"400"
        assert await reader.read() == b""

    talk(conversation)


def test_a_head_in_many_pieces_is_read() -> None:
    async def conversation(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in (HEAD, b"x: 1\r\n" * 50, b"content-length: 3\r\n", b"\r\n", b"ab", b"c"):
            writer.write(piece)
            await asyncio.sleep(0.01)
        assert await answer(reader) == (b"200", b"3")

    talk(conversation)


def test_a_long_body_is_no_long_head() -> None:
    async def conversation(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = 3 * MAX_HEAD_BYTES
        for _ in range(2):
            writer.write(HEAD + b"content-length: %d\r\n\r\n" % size)
            for _ in range(3):
                writer.write(b"z" * MAX_HEAD_BYTES)
                await asyncio.sleep(0.01)
            assert await answer(reader) == (b"200", b"%d" % size)

    talk(conversation)


def test_heads_are_counted_one_by_one() -> None:
    async def conversation(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        filling = b"x: " + b"y" * (MAX_HEAD_BYTES // 2) + b"\r\n"
        for _ in range(4):
            for piece in (HEAD, filling, b"\r\n"):
                writer.write(piece)
                await asyncio.sleep(0.01)
            assert (await answer(reader))[0] == b"200"

    talk(conversation)
