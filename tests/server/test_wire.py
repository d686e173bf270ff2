"""What `bbops_server.process.sockets.wire` writes is what uvicorn itself would have written."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as some
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from bbops.compiler.testing.host import fake_host
from bbops.runtime.http.responses import Answering, Trace
from bbops.runtime.values.failures import Failure
from bbops_server.process.sockets.connection import HttpConnection
from bbops_server.process.sockets.wire import BufferedTransport, WriteBuffers, send_whole

pytestmark = pytest.mark.quick

Headers = list[tuple[bytes, bytes]]
DATE = [(b"date", b"Sat, 21 Nov 2026 12:00:00 GMT")]


class Pipe(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.is_closed = False

    def write(self, data: Any) -> None:
        assert not self.is_closed
        self.written.append(bytes(data))

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)}.get(name, default)

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


async def exchange(
    request: bytes, app: Any, protocol: type[HttpToolsProtocol] = HttpConnection
) -> tuple[bytes, bool]:
    """Send a request; return every byte of the response, and whether the connection then closed."""
    config = uvicorn.Config(app, lifespan="off", ws="none", log_config=None, access_log=False)
    config.load()
    state = ServerState()
    state.default_headers = DATE
    connection, pipe = protocol(config, state, {}), Pipe()
    connection.connection_made(pipe)
    connection.data_received(request)
    await asyncio.gather(*state.tasks)
    await asyncio.sleep(0)
    assert not state.tasks
    connection.connection_lost(None)
    return b"".join(pipe.written), pipe.is_closed


def answers(status: int, headers: Headers, body: bytes, *, whole: bool) -> Any:
    """Return an application that answers as a release does."""
    answering = Answering(
        "0123456789ab", fake_host(None), {}, None, fuel=1, detailed=False,  # type: ignore[arg-type]
        send_whole=send_whole if whole else None,
    )  # fmt: skip

    async def answer(scope: Any, _receive: Any, send: Any) -> None:
        scope["bbops"] = Trace()
        await answering.send(send, scope, status, body, headers)

    return answer


def heads(lines: bytes) -> tuple[bytes, set[bytes], bytes]:
    """Return status line, header lines in any order, and body."""
    head, _, body = lines.partition(b"\r\n\r\n")
    first, *rest = head.split(b"\r\n")
    assert len(set(rest)) == len(rest)
    return first, set(rest), body


REQUESTS = [
    b"GET / HTTP/1.1\r\nhost: a\r\n\r\n",
    b"HEAD / HTTP/1.1\r\nhost: a\r\n\r\n",
    b"GET / HTTP/1.0\r\nhost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
    b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n",
]


@given(
    request=some.sampled_from(REQUESTS),
    status=some.sampled_from([200, 201, 204, 299, 304, 404, 413, 500, 503]),
    headers=some.lists(
        some.sampled_from([
            (b"content-type", b"application/json"), (b"vary", b"origin"), (b"x-a", b"caf\xe9"),
            (b"connection", b"close"), (b"retry-after", b""), (b"x-connection", b"close"),
        ]), unique=True,
    ),
    body=some.binary(max_size=200),
)  # fmt: skip
def test_a_whole_answer_has_the_bytes_that_two_messages_have(
    request: bytes, status: int, headers: Headers, body: bytes
) -> None:
    async def compare() -> None:
        one, one_closed = await exchange(request, answers(status, headers, body, whole=True))
        uvicorns = answers(status, headers, body, whole=False)
        two, two_closed = await exchange(request, uvicorns, HttpToolsProtocol)
        assert heads(one) == heads(two)
        assert one_closed == two_closed

    asyncio.run(compare())


def test_a_second_answer_is_refused() -> None:
    async def twice(scope: Any, receive: Any, send: Any) -> None:
        await answers(200, [], b"one", whole=True)(scope, receive, send)
        with pytest.raises(RuntimeError):
            await answers(200, [], b"two", whole=True)(scope, receive, send)

    written, _ = asyncio.run(exchange(REQUESTS[0], twice))
    assert written.endswith(b"\r\n\r\none")


def test_a_line_break_in_a_header_is_never_written() -> None:
    async def split(scope: Any, receive: Any, send: Any) -> None:
        with pytest.raises(Failure, match="line break"):
            await answers(200, [(b"x-a", b"1\r\nx-b: 2")], b"", whole=True)(scope, receive, send)
        await answers(200, [], b"fine", whole=True)(scope, receive, send)

    written, _ = asyncio.run(exchange(REQUESTS[0], split))
    assert b"x-b" not in written


@pytest.mark.parametrize("protocol", [HttpConnection, HttpToolsProtocol])
def test_an_application_that_sends_nothing_or_raises_is_a_500(protocol: Any) -> None:
    async def silent(_scope: Any, _receive: Any, _send: Any) -> None: ...

    async def broken(_scope: Any, _receive: Any, _send: Any) -> None:
        raise ZeroDivisionError

    for app in (silent, broken):
        written, is_closed = asyncio.run(exchange(REQUESTS[0], app, protocol))
        assert written.startswith(b"HTTP/1.1 500 ")
        assert is_closed


@pytest.mark.parametrize("protocol", [HttpConnection, HttpToolsProtocol])
def test_an_application_that_stops_in_the_middle_closes_the_connection(protocol: Any) -> None:
    async def broken(_scope: Any, _receive: Any, send: Any) -> None:
        length = [(b"content-length", b"4")]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": b"ha", "more_body": True})
        raise ZeroDivisionError

    written, is_closed = asyncio.run(exchange(REQUESTS[0], broken, protocol))
    assert written.endswith(b"\r\n\r\nha")
    assert is_closed


@pytest.mark.parametrize("protocol", [HttpConnection, HttpToolsProtocol])
def test_a_body_is_received_once_and_then_the_end_of_the_response(protocol: Any) -> None:
    received: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        received.append(await receive())
        waiting = asyncio.create_task(receive())
        await asyncio.sleep(0)
        assert not waiting.done()
        await answers(200, [], b"ok", whole=True)(scope, receive, send)
        received.append(await waiting)

    request = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody"
    asyncio.run(exchange(request, app, protocol))
    assert received == [
        {"type": "http.request", "body": b"body", "more_body": False},
        {"type": "http.disconnect"},
    ]


def test_what_is_written_in_one_turn_leaves_together() -> None:
    async def run() -> None:
        pipes, corks = [Pipe() for _ in range(3)], WriteBuffers(asyncio.get_running_loop())
        for number, pipe in enumerate(pipes):
            BufferedTransport(pipe, corks).write(b"%d" % number)
        assert not any(pipe.written for pipe in pipes)
        await asyncio.sleep(0)
        assert [pipe.written for pipe in pipes] == [[b"0"], [b"1"], [b"2"]]

    asyncio.run(run())


def test_closing_sends_first_what_was_kept() -> None:
    async def run() -> None:
        pipe = Pipe()
        corked = BufferedTransport(pipe, WriteBuffers(asyncio.get_running_loop()))
        corked.write(b"last words")
        corked.close()
        assert pipe.written == [b"last words"]
        assert pipe.is_closed

    asyncio.run(run())


def test_many_answers_do_not_wait_for_the_loop() -> None:
    async def run() -> None:
        pipe = Pipe()
        corked = BufferedTransport(pipe, WriteBuffers(asyncio.get_running_loop()))
        for _ in range(64):
            corked.write(b".")
        assert len(pipe.written) == 64

    asyncio.run(run())


def test_a_client_that_left_takes_nobody_elses_answer_along() -> None:
    async def main() -> None:
        corks, pipes = WriteBuffers(asyncio.get_running_loop()), [Pipe() for _ in range(3)]
        for pipe in pipes:
            BufferedTransport(pipe, corks).write(b"answer")
        pipes[1].close()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert [pipe.written for pipe in pipes] == [[b"answer"], [], [b"answer"]]

    asyncio.run(main())
