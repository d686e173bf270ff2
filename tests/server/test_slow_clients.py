"""Clients that send or read slowly, or not at all: they are cut off and cost the others nothing.

In this process, with durations that a test can wait for.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import uvloop

from bbops_server.process.sockets import descriptors
from bbops_server.process.sockets.binding import bind
from bbops_server.process.sockets.connection import Connection
from bbops_server.process.sockets.serving import Server
from tests.support.raw import HELLO, answers, head, post

BIG = b"x" * 20_000_000


class Quick(Connection):
    head_seconds = 0.4
    body_seconds = 0.5
    answer_seconds = 0.6
    idle_seconds = 0.7
    linger_seconds = 0.3


class QuickServer(Server):
    ticks_per_look = 1


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    is_more = scope["method"] == "POST"
    while is_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        is_more = message["more_body"]
    if scope["path"] == "/slow":
        await asyncio.sleep(2)
    body = BIG if scope["path"] == "/big" else b"hello"
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Open = Callable[[], Awaitable[Client]]


def serve(test: Callable[[Open, Server], Awaitable[None]]) -> None:
    async def main() -> None:
        server, opened = QuickServer(app, connection=Quick), list[Client]()
        with bind("127.0.0.1", 0, option="--port") as listening:
            port = listening.getsockname()[1]
            server.start(listening)

            async def connect() -> Client:
                opened.append(await asyncio.open_connection("127.0.0.1", port))
                return opened[-1]

            try:
                async with asyncio.timeout(20):
                    await test(connect, server)
            finally:
                for _, writer in opened:
                    writer.transport.abort()
                await server.stop(1)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


async def ended_after(reader: asyncio.StreamReader) -> tuple[list[int], float]:
    """Return the statuses until the end, and how long it took."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    received = b""
    with suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            received += data
    return [answer.status for answer in answers(received)], loop.time() - begun


async def trickle(writer: asyncio.StreamWriter, data: bytes, pause: float = 0.05) -> None:
    for byte in data:
        writer.write(bytes([byte]))
        await asyncio.sleep(pause)


@pytest.mark.long
def test_who_says_nothing_is_let_go() -> None:
    async def test(connect: Open, server: Server) -> None:
        reader, _ = await connect()
        assert 0.6 < (await ended_after(reader))[1] < 1.5
        assert not server.server_state.connections

    serve(test)


@pytest.mark.long
def test_empty_lines_are_nothing() -> None:
    async def test(connect: Open, server: Server) -> None:
        reader, writer = await connect()
        writer.write(HELLO)
        sending = asyncio.create_task(trickle(writer, b"\r\n" * 30))
        statuses, seconds = await ended_after(reader)
        assert statuses == [200]
        assert seconds < 1.7
        sending.cancel()

    serve(test)


@pytest.mark.parametrize("before", [b"", HELLO])
def test_a_head_that_does_not_end_is_408(before: bytes) -> None:
    async def test(connect: Open, server: Server) -> None:
        reader, writer = await connect()
        writer.write(before)
        sending = asyncio.create_task(trickle(writer, HELLO))
        statuses, seconds = await ended_after(reader)
        assert statuses == [200] * bool(before) + [408]
        assert 0.3 < seconds < 1.2
        sending.cancel()

    serve(test)


@pytest.mark.parametrize("pause", [60, 0.05])
@pytest.mark.parametrize("line", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
def test_a_body_that_stalls_or_trickles_is_408(line: str, pause: float) -> None:
    async def test(connect: Open, server: Server) -> None:
        reader, writer = await connect()
        writer.write(post(line))
        sending = asyncio.create_task(trickle(writer, b"1\r\nx\r\n" * 100, pause))
        statuses, seconds = await ended_after(reader)
        assert statuses == [408]
        assert 0.4 < seconds < 1.3
        sending.cancel()

    serve(test)


@pytest.mark.long
def test_a_body_that_comes_slowly_but_comes_is_taken() -> None:
    async def test(connect: Open, server: Server) -> None:
        reader, writer = await connect()
        writer.write(post("Content-Length: 1000", "Connection: close"))
        for _ in range(20):
            await asyncio.sleep(0.08)
            writer.write(b"x" * 50)
        assert (await ended_after(reader))[0] == [200]

    serve(test)


@pytest.mark.long
def test_a_slow_answer_is_not_the_clients_fault() -> None:
    async def test(connect: Open, server: Server) -> None:
        reader, writer = await connect()
        writer.write(head("GET /slow HTTP/1.1", "Connection: close"))
        statuses, seconds = await ended_after(reader)
        assert statuses == [200]
        assert seconds > 1.9

    serve(test)


@pytest.mark.long
@pytest.mark.parametrize("close", [[], ["Connection: close"]])
def test_who_does_not_read_the_answer_is_cut_off(close: list[str]) -> None:
    async def test(connect: Open, server: Server) -> None:
        _, writer = await connect()
        writer.write(head("GET /big HTTP/1.1", *close))
        await asyncio.sleep(0.3)
        assert len(server.server_state.connections) == 1
        await asyncio.sleep(1.2)
        assert not server.server_state.connections

    serve(test)


@pytest.mark.long
def test_who_reads_slowly_but_reads_gets_the_whole_answer() -> None:
    async def test(connect: Open, server: Server) -> None:
        reader, writer = await connect()
        writer.write(head("GET /big HTTP/1.1", "Connection: close"))
        received = b""
        while data := await reader.read(1_500_000):
            received += data
            await asyncio.sleep(0.01)
        (answer,) = answers(received)
        assert answer.body == BIG

    serve(test)


@pytest.mark.long
def test_hundreds_of_slow_clients_do_not_delay_a_quick_one() -> None:
    async def test(connect: Open, server: Server) -> None:
        slow = [await connect() for _ in range(300)]
        for _, writer in slow:
            writer.write(HELLO[:-2])
        loop, longest = asyncio.get_running_loop(), 0.0
        until = loop.time() + 1.5
        while loop.time() < until:
            begun = loop.time()
            reader, writer = await connect()
            writer.write(head("GET / HTTP/1.1", "Connection: close"))
            assert (await ended_after(reader))[0] == [200]
            longest = max(longest, loop.time() - begun)
            await asyncio.sleep(0.01)
        assert longest < 0.3
        assert [(await ended_after(reader))[0] for reader, _ in slow] == [[408]] * 300

    serve(test)


@contextmanager
def limited_to(most: int) -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_connections_beyond_the_descriptors_are_503_and_those_within_are_served(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptors, "_warned_at", -60.0)

    async def test(connect: Open, server: Server) -> None:
        with limited_to(64 + 20):
            kept = [await connect() for _ in range(20)]
            reader, _ = await connect()
            assert (await ended_after(reader))[0] == [503]
            reader, _ = await connect()
            assert (await ended_after(reader))[0] == [503]
            for _, writer in kept:
                writer.write(head("GET / HTTP/1.1", "Connection: close"))
            assert [(await ended_after(reader))[0] for reader, _ in kept] == [[200]] * 20

    serve(test)
    told = [one for one in caplog.messages if "file descriptors run out" in one]
    assert len(told) == 1  # not a line for each client


def test_a_process_may_open_as_many_descriptors_as_the_system_lets_it() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with limited_to(256):
        descriptors.raise_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(hard, 1 << 17)
