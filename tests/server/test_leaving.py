"""A server that leaves: who is connected gets an answer that says so, and nobody is cut off."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
import uvloop

from bbops_server.process.sockets.binding import bind
from bbops_server.process.sockets.serving import Server
from tests.support.raw import HELLO, Answer, answers, head

SLOW = head("GET /slow HTTP/1.1")
LONG = head("GET /long HTTP/1.1")
IDLE_SECONDS = 0.5
Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": f"{message['type']}.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    if scope["path"] == "/slow":
        await asyncio.sleep(0.5)
    headers = [(b"content-length", b"5")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["path"] == "/long":
        await send({"type": "http.response.body", "body": b"he", "more_body": True})
        await asyncio.sleep(0.5)
        await send({"type": "http.response.body", "body": b"llo"})
    else:
        await send({"type": "http.response.body", "body": b"hello"})


def serve(test: Callable[[Client, Callable[[], Any]], Awaitable[None]]) -> None:
    """Run a test with a connection that has had an answer, and with what makes the server leave."""

    async def main() -> None:
        server = Server(app)
        with bind("127.0.0.1", 0, option="--port") as listening:
            port = listening.getsockname()[1]
            server.start(listening.dup())
            client = await asyncio.open_connection("127.0.0.1", port)
            client[1].write(HELLO)
            await client[0].readuntil(b"hello")

            def leave() -> asyncio.Task[None]:
                return asyncio.create_task(server.leave(5, idle_seconds=IDLE_SECONDS))

            try:
                async with asyncio.timeout(10):
                    await test(client, leave)
                    assert not server.server_state.connections
            finally:
                client[1].transport.abort()
                await server.stop(1)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


async def rest(client: Client) -> list[Answer]:
    """Return every answer until the server closes."""
    return list(answers(await client[0].read()))


def closes(answer: Answer) -> bool:
    return answer.headers.get("connection") == "close"


def test_an_answer_under_way_is_the_last_one_and_says_so() -> None:
    async def test(client: Client, leave: Callable[[], Any]) -> None:
        client[1].write(SLOW)
        await asyncio.sleep(0.1)
        leaving = leave()
        (last,) = await rest(client)
        assert (last.status, last.body, closes(last)) == (200, b"hello", True)
        await leaving

    serve(test)


def test_a_request_that_still_comes_is_answered() -> None:
    async def test(client: Client, leave: Callable[[], Any]) -> None:
        leaving = leave()
        await asyncio.sleep(0.2)
        client[1].write(HELLO)
        (last,) = await rest(client)
        assert (last.status, closes(last)) == (200, True)
        await leaving

    serve(test)


def test_an_answer_that_had_begun_cannot_say_it_so_the_next_one_does() -> None:
    async def test(client: Client, leave: Callable[[], Any]) -> None:
        client[1].write(LONG)
        await client[0].readuntil(b"he")
        leaving = leave()
        await client[0].readuntil(b"llo")
        client[1].write(HELLO)
        (last,) = await rest(client)
        assert (last.status, closes(last)) == (200, True)
        await leaving

    serve(test)


@pytest.mark.parametrize("requests", [SLOW + HELLO + HELLO, HELLO + SLOW + HELLO])
def test_of_several_requests_only_the_last_answer_says_it(requests: bytes) -> None:
    async def test(client: Client, leave: Callable[[], Any]) -> None:
        client[1].write(requests)
        await asyncio.sleep(0.1)
        leaving = leave()
        found = await rest(client)
        assert [one.status for one in found] == [200] * 3
        assert [closes(one) for one in found] == [False, False, True]
        await leaving

    serve(test)


def test_requests_that_come_together_afterwards_are_all_answered() -> None:
    async def test(client: Client, leave: Callable[[], Any]) -> None:
        leaving = leave()
        await asyncio.sleep(0.1)
        client[1].write(HELLO + HELLO)
        assert [closes(one) for one in await rest(client)] == [False, True]
        await leaving

    serve(test)


def test_a_connection_without_a_request_is_closed_after_a_while() -> None:
    async def test(client: Client, leave: Callable[[], Any]) -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        leaving = leave()
        assert await rest(client) == []
        assert loop.time() - begun > IDLE_SECONDS / 2
        await leaving

    serve(test)


def test_nobody_new_is_accepted() -> None:
    async def test(client: Client, leave: Callable[[], Any]) -> None:
        address = client[1].get_extra_info("peername")
        leaving = leave()
        await asyncio.sleep(0.05)
        _, writer = await asyncio.open_connection(*address)  # it waits for another server
        writer.write(HELLO)
        await leaving
        with suppress(ConnectionError):
            writer.close()

    serve(test)
