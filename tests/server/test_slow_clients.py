"""Clients that send or read slowly, or not at all: they are cut off and cost the others nothing.

In this process, with a clock that only the test moves.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from bbops_server.process.sockets import descriptors
from bbops_server.process.sockets.binding import bind
from bbops_server.process.sockets.connection import HttpConnection, RequestStage
from bbops_server.process.sockets.serving import SocketServer
from tests.support.clock import FrozenClockLoop, move_clock
from tests.support.patience import PATIENCE_SECONDS, eventually, patience, settle
from tests.support.raw import HELLO, answers, head, post

BIG = b"x" * 20_000_000
GET = head("GET / HTTP/1.1", "Connection: close")

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class FrequentServer(SocketServer):
    ticks_per_check = 1


class App:
    """An application that reads a body; its answer to `/slow` waits for a gate."""

    def __init__(self) -> None:
        self.gate, self.is_asked = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
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
            self.is_asked.set()
            await self.gate.wait()
        body = BIG if scope["path"] == "/big" else b"hello"
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class CountingConnection(HttpConnection):
    received_bytes = 0

    def data_received(self, data: bytes) -> None:
        self.received_bytes += len(data)
        super().data_received(data)


class Serving:
    """A server, and the clients of a test."""

    def __init__(self, port: int) -> None:
        self.app = App()
        self.server = FrequentServer(self.app, connection=CountingConnection)
        self.port, self.clients = port, list[Client]()

    async def connect(self, data: bytes = b"") -> Client:
        """Return a client that has sent some bytes."""
        self.clients.append(await asyncio.open_connection("127.0.0.1", self.port))
        self.clients[-1][1].write(data)
        return self.clients[-1]

    @property
    def connections(self) -> list[CountingConnection]:
        """The connections that the server has accepted and not closed."""
        every = self.server.server_state.connections
        return [one for one in every if isinstance(one, CountingConnection)]

    def is_connected(self) -> bool:
        """Return whether the only client still has its connection."""
        return [one.transport.is_closing() for one in self.connections] == [False]

    async def has_read(self, size: int) -> None:
        """Wait until the server has read so many bytes of its only client."""
        await eventually(lambda: [one.received_bytes for one in self.connections] == [size])

    async def look(self) -> None:
        """Let the server look at its connections now; it also does so several times a second."""
        await self.server.on_tick(0)

    async def pass_by(self, seconds: float) -> None:
        """Move the clock, and let the server look at its connections then."""
        move_clock(seconds)
        await self.look()


def serve(test: Callable[[Serving], Awaitable[None]]) -> None:
    async def main() -> None:
        with bind("127.0.0.1", 0, option="--port") as listening:
            serving = Serving(listening.getsockname()[1])
            serving.server.start(listening)
            try:
                async with patience():
                    await test(serving)
            finally:
                for _, writer in serving.clients:
                    writer.transport.abort()
                await serving.server.stop(PATIENCE_SECONDS)

    with asyncio.Runner(loop_factory=FrozenClockLoop) as runner:
        runner.run(main())


async def statuses(reader: asyncio.StreamReader) -> list[int]:
    """Return the status of each answer until the server closes."""
    received = b""
    with suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            received += data
    return [answer.status for answer in answers(received)]


def test_a_client_that_sends_nothing_is_disconnected() -> None:
    async def test(serving: Serving) -> None:
        reader, _ = await serving.connect()
        await serving.has_read(0)
        await serving.look()
        await serving.pass_by(HttpConnection.idle_seconds - 1)
        assert serving.is_connected()
        move_clock(2)
        assert await statuses(reader) == []
        await eventually(lambda: not serving.connections)

    serve(test)


def test_empty_lines_are_not_a_request() -> None:
    async def test(serving: Serving) -> None:
        reader, writer = await serving.connect(HELLO)
        await reader.readuntil(b"hello")
        await serving.look()
        for number in range(1, 11):
            writer.write(b"\r\n")
            await serving.has_read(len(HELLO) + 2 * number)
            await serving.pass_by((HttpConnection.idle_seconds - 1) / 10)
        assert serving.is_connected()
        move_clock(2)
        assert await statuses(reader) == []

    serve(test)


@pytest.mark.parametrize("before", [b"", HELLO])
def test_a_head_that_does_not_end_is_408(before: bytes) -> None:
    async def test(serving: Serving) -> None:
        reader, writer = await serving.connect(before + HELLO[:10])
        await serving.has_read(len(before) + 10)
        await serving.look()
        for end in range(11, len(HELLO)):
            await serving.pass_by((HttpConnection.head_seconds - 1) / len(HELLO))
            writer.write(HELLO[end - 1 : end])
            await serving.has_read(len(before) + end)
        assert [one.stage for one in serving.connections] == [RequestStage.HEAD]
        move_clock(HttpConnection.head_seconds)
        assert await statuses(reader) == [200] * bool(before) + [408]

    serve(test)


@pytest.mark.parametrize("piece", [b"", b"1\r\nx\r\n"])
@pytest.mark.parametrize("line", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
def test_a_body_that_stalls_or_trickles_is_408(line: str, piece: bytes) -> None:
    async def test(serving: Serving) -> None:
        reader, writer = await serving.connect(post(line))
        await serving.has_read(len(post(line)))
        await serving.look()
        for number in range(1, 11):
            await serving.pass_by((HttpConnection.body_seconds - 1) / 10)
            writer.write(piece)
            await serving.has_read(len(post(line)) + number * len(piece))
        assert [one.stage for one in serving.connections] == [RequestStage.BODY]
        move_clock(2)
        assert await statuses(reader) == [408]

    serve(test)


def test_a_body_that_comes_slowly_but_comes_is_taken() -> None:
    count = 10
    piece = b"x" * int(HttpConnection.min_bytes_per_second * (HttpConnection.body_seconds + 1))
    start = post(f"Content-Length: {count * len(piece)}", "Connection: close")

    async def test(serving: Serving) -> None:
        reader, writer = await serving.connect(start)
        await serving.has_read(len(start))
        await serving.look()
        for number in range(1, count):
            writer.write(piece)
            await serving.has_read(len(start) + number * len(piece))
            await serving.pass_by(HttpConnection.body_seconds)
        writer.write(piece)
        assert await statuses(reader) == [200]

    serve(test)


def test_a_slow_answer_is_not_the_clients_fault() -> None:
    async def test(serving: Serving) -> None:
        reader, _ = await serving.connect(head("GET /slow HTTP/1.1", "Connection: close"))
        await serving.app.is_asked.wait()
        await serving.look()
        await serving.pass_by(3600)
        serving.app.gate.set()
        assert await statuses(reader) == [200]

    serve(test)


@pytest.mark.parametrize("close", [[], ["Connection: close"]])
def test_a_client_that_does_not_read_the_answer_is_disconnected(close: list[str]) -> None:
    async def test(serving: Serving) -> None:
        await serving.connect(head("GET /big HTTP/1.1", *close))
        await eventually(
            lambda: any(one.transport.get_write_buffer_size() for one in serving.connections)
        )
        await serving.look()
        await serving.pass_by(HttpConnection.answer_seconds - 1)
        await settle()
        assert len(serving.connections) == 1
        while serving.connections:  # the buffers of both kernels fill first
            await serving.pass_by(HttpConnection.answer_seconds)
            await settle()

    serve(test)


def test_a_client_that_reads_slowly_but_reads_gets_the_whole_answer() -> None:
    async def test(serving: Serving) -> None:
        reader, _ = await serving.connect(head("GET /big HTTP/1.1", "Connection: close"))
        received = await reader.readexactly(2_000_000)
        await serving.look()
        for _ in range(8):
            received += await reader.readexactly(2_000_000)
            await serving.pass_by(HttpConnection.answer_seconds)
        (answer,) = answers(received + await reader.read())
        assert answer.body == BIG

    serve(test)


def test_hundreds_of_slow_clients_do_not_keep_a_quick_one_from_its_answer() -> None:
    async def test(serving: Serving) -> None:
        slow = [await serving.connect(HELLO[:-2]) for _ in range(300)]
        await eventually(
            lambda: [one.stage for one in serving.connections] == [RequestStage.HEAD] * len(slow)
        )
        await serving.look()
        reader, _ = await serving.connect(GET)
        assert await statuses(reader) == [200]
        move_clock(HttpConnection.head_seconds + 1)
        assert [await statuses(reader) for reader, _ in slow] == [[408]] * len(slow)

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

    async def test(serving: Serving) -> None:
        with limited_to(64 + 20):
            kept = [await serving.connect() for _ in range(20)]
            for _ in range(2):
                reader, _ = await serving.connect()
                assert await statuses(reader) == [503]
            for _, writer in kept:
                writer.write(GET)
            assert [await statuses(reader) for reader, _ in kept] == [[200]] * 20

    serve(test)
    told = [one for one in caplog.messages if "file descriptors run out" in one]
    assert len(told) == 1  # not a line for each client


def test_a_process_may_open_as_many_descriptors_as_the_system_lets_it() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with limited_to(256):
        descriptors.raise_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(hard, 1 << 17)
