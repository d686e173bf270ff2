"""A data process passes websockets on to a draft's process, and trusts nothing that comes back."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bbops_server.data_plane.drafts.sockets import MOST_MESSAGE_BYTES, RESTARTED, pass_socket
from bbops_server.data_plane.drafts.wire import (
    PIECE_BYTES,
    Accept,
    Close,
    Head,
    Part,
    Start,
    Text,
    Wire,
)

pytestmark = pytest.mark.quick

SCOPE: dict[str, Any] = {
    "type": "websocket", "path": "/~realtime", "raw_path": b"/~realtime", "query_string": b"",
    "root_path": "", "client": ("127.0.0.1", 1), "scheme": "ws", "headers": [],
}  # fmt: skip
Peer = Callable[[Wire], Awaitable[None]]


class Client:
    """A client that connects, sends some texts, and leaves at the event `left`."""

    def __init__(self, *texts: str | None) -> None:
        said = [{"type": "websocket.receive", "text": one} for one in texts]
        self.sent: list[Any] = []
        self.left = asyncio.Event()
        self._said = [{"type": "websocket.connect"}, *said]

    async def receive(self) -> Any:
        if self._said:
            return self._said.pop(0)
        await self.left.wait()
        return {"type": "websocket.disconnect", "code": 1001}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    @property
    def closed_with(self) -> int:
        return int(self.sent[-1]["code"])


def serve(peer: Peer, client: Client) -> Any:
    """Pass a websocket on to a process that behaves like `peer`."""

    async def main() -> Any:
        async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            wire = Wire(reader, writer)
            head = await wire.read()
            assert isinstance(head, Head)
            assert head.is_socket
            await peer(wire)
            wire.close()

        with tempfile.TemporaryDirectory(prefix="bbops-") as folder:
            path = str(Path(folder) / "draft")
            async with await asyncio.start_unix_server(meet, path):
                return await pass_socket(path, SCOPE, client.receive, client.send, lambda: None)

    return asyncio.run(main())


def test_texts_cross_both_ways_in_pieces() -> None:
    heard: list[Any] = []
    long = "ö" * PIECE_BYTES

    async def echo(wire: Wire) -> None:
        await wire.write(Accept())
        heard.append(await wire.read())
        await wire.write_message(long)
        await wire.write(Close(3501, "bad request"))

    client = Client("hello")
    assert serve(echo, client) == "answered"
    assert heard == [Text(b"hello", more=False)]
    assert client.sent == [
        {"type": "websocket.accept"}, {"type": "websocket.send", "text": long},
        {"type": "websocket.close", "code": 3501, "reason": "bad request"},
    ]  # fmt: skip


def test_bytes_of_a_client_end_the_websocket_at_the_draft() -> None:
    heard: list[Any] = []

    async def listens(wire: Wire) -> None:
        await wire.write(Accept())
        heard.append(await wire.read())

    serve(listens, Client(None))
    assert heard == [Close(1003, "")]


@pytest.mark.parametrize("frames", [
    [], [Start(404, []), Part(b"no topics", more=False)], [Text(b"early", more=False)],
    [Close(1000, "")],
], ids=["nothing", "an answer", "a text", "a close"])  # fmt: skip
def test_a_process_that_does_not_accept_sends_nothing(frames: list[Any]) -> None:
    async def refuses(wire: Wire) -> None:
        for frame in frames:
            await wire.write(frame)

    client = Client()
    assert serve(refuses, client) == "gone"
    assert client.sent == []


def test_a_message_without_an_end_is_cut_off() -> None:
    async def floods(wire: Wire) -> None:
        await wire.write(Accept())
        for _ in range(MOST_MESSAGE_BYTES // PIECE_BYTES + 1):
            await wire.write(Text(b"x" * PIECE_BYTES, more=True))

    client = Client()
    assert serve(floods, client) == "answered"
    assert client.closed_with == 1009


def test_clients_connect_again_when_a_process_ends_or_says_something_else() -> None:
    async def ends(wire: Wire) -> None:
        await wire.write(Accept())

    async def answers(wire: Wire) -> None:
        await wire.write(Accept())
        await wire.write(Part(b"x", more=False))

    for peer in (ends, answers):
        client = Client()
        assert serve(peer, client) == "answered"
        assert client.closed_with == RESTARTED


def test_a_process_that_has_ended_is_absent() -> None:
    client = Client()

    async def main() -> str:
        path = "/nowhere/at/all"
        return await pass_socket(path, SCOPE, client.receive, client.send, lambda: None)

    assert asyncio.run(main()) == "absent"
    assert client.sent == []
