"""A server that leaves: its connections get an answer that says so, and none is cut off.

Only the test moves the clock, so no connection reaches its idle limit by accident.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from bbops_server.process.sockets.binding import bind
from bbops_server.process.sockets.connection import HttpConnection
from bbops_server.process.sockets.serving import IDLE_SECONDS, SocketServer
from tests.support.clock import FrozenClockLoop, move_clock
from tests.support.patience import PATIENCE_SECONDS, eventually, patience
from tests.support.raw import HELLO, Answer, answers, head

SLOW = head("GET /slow HTTP/1.1")
LONG = head("GET /long HTTP/1.1")


class App:
    """An application whose answers to `/slow` and `/long` end when the gate is open."""

    def __init__(self) -> None:
        self.gate, self.is_asked = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": f"{message['type']}.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        if scope["path"] == "/slow":
            self.is_asked.set()
            await self.gate.wait()
        headers = [(b"content-length", b"5")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if scope["path"] == "/long":
            await send({"type": "http.response.body", "body": b"he", "more_body": True})
            await self.gate.wait()
            await send({"type": "http.response.body", "body": b"llo"})
        else:
            await send({"type": "http.response.body", "body": b"hello"})


@dataclass
class Serving:
    """A server, and one client that has had an answer."""

    server: SocketServer
    app: App
    listening: socket.socket
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    leaving: asyncio.Task[None] = field(init=False)

    @property
    def connection(self) -> HttpConnection:
        """The server's end of the client's connection."""
        (found,) = self.server.server_state.connections
        assert isinstance(found, HttpConnection)
        return found

    async def leave(self) -> None:
        """Begin to leave, and return once the connection is marked as leaving."""
        self.leaving = asyncio.create_task(self.server.leave(PATIENCE_SECONDS))
        await eventually(lambda: self.connection.is_leaving)

    async def rest(self) -> list[Answer]:
        """Return every answer until the server closes."""
        return list(answers(await self.reader.read()))


def serve(test: Callable[[Serving], Awaitable[None]]) -> None:
    """Run a test, at whose end the server has left and no connection is open."""

    async def main() -> None:
        app = App()
        server = SocketServer(app)
        with bind("127.0.0.1", 0, option="--port") as listening:
            server.start(listening.dup())
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            writer.write(HELLO)
            await reader.readuntil(b"hello")
            serving = Serving(server, app, listening, reader, writer)
            try:
                async with patience():
                    await test(serving)
                    await serving.leaving
                assert not server.server_state.connections
            finally:
                writer.transport.abort()
                await server.stop(PATIENCE_SECONDS)

    with asyncio.Runner(loop_factory=FrozenClockLoop) as runner:
        runner.run(main())


def closes(answer: Answer) -> bool:
    return answer.headers.get("connection") == "close"


def test_an_answer_under_way_is_the_last_one_and_says_so() -> None:
    async def test(serving: Serving) -> None:
        serving.writer.write(SLOW)
        await serving.app.is_asked.wait()
        await serving.leave()
        serving.app.gate.set()
        (last,) = await serving.rest()
        assert (last.status, last.body, closes(last)) == (200, b"hello", True)

    serve(test)


def test_a_request_that_still_comes_is_answered() -> None:
    async def test(serving: Serving) -> None:
        await serving.leave()
        serving.writer.write(HELLO)
        (last,) = await serving.rest()
        assert (last.status, closes(last)) == (200, True)

    serve(test)


def test_an_answer_that_had_begun_cannot_say_it_so_the_next_one_does() -> None:
    async def test(serving: Serving) -> None:
        serving.writer.write(LONG)
        await serving.reader.readuntil(b"he")
        await serving.leave()
        serving.app.gate.set()
        await serving.reader.readuntil(b"llo")
        serving.writer.write(HELLO)
        (last,) = await serving.rest()
        assert (last.status, closes(last)) == (200, True)

    serve(test)


@pytest.mark.parametrize(("before", "behind"), [(0, 2), (1, 1)])
def test_of_several_requests_only_the_last_answer_says_it(before: int, behind: int) -> None:
    async def test(serving: Serving) -> None:
        serving.writer.write(HELLO * before + SLOW + HELLO * behind)
        await serving.app.is_asked.wait()
        await eventually(lambda: len(serving.connection.pipeline) == behind)
        await serving.leave()
        serving.app.gate.set()
        found = await serving.rest()
        assert [one.status for one in found] == [200] * 3
        assert [closes(one) for one in found] == [False, False, True]

    serve(test)


def test_requests_that_come_together_afterwards_are_all_answered() -> None:
    async def test(serving: Serving) -> None:
        await serving.leave()
        serving.writer.write(HELLO + HELLO)
        assert [closes(one) for one in await serving.rest()] == [False, True]

    serve(test)


def test_a_connection_without_a_request_is_closed_after_a_while() -> None:
    async def test(serving: Serving) -> None:
        await serving.leave()
        await serving.server.on_tick(0)
        move_clock(IDLE_SECONDS - 1)
        await serving.server.on_tick(0)
        assert not serving.connection.transport.is_closing()
        move_clock(2)
        assert await serving.rest() == []

    serve(test)


def test_no_new_connection_is_accepted() -> None:
    async def test(serving: Serving) -> None:
        await serving.leave()
        _, writer = await asyncio.open_connection(*serving.listening.getsockname())
        writer.write(HELLO)
        serving.writer.write(HELLO)
        await serving.leaving
        accepted, _ = serving.listening.accept()  # by the next server, which listens as well
        with accepted:
            assert accepted.recv(len(HELLO)) == HELLO
        writer.transport.abort()

    serve(test)
