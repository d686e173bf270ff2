"""A data process passes requests on to a draft's process, and trusts nothing that comes back."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bbops.runtime.http.in_flight import ActiveRequests
from bbops_server.data_plane.draft_process.answering import Answering
from bbops_server.data_plane.drafts.drafts import Drafts
from bbops_server.data_plane.drafts.keys import make_token
from bbops_server.data_plane.drafts.wire import CutOff, Head, Part, Start, Wire, pass_on
from bbops_server.process.forks.limits import MAX_REQUESTS
from bbops_server.process.messages.drafts import DraftPlace

pytestmark = pytest.mark.quick

KEY = b"k" * 32
PLACE = DraftPlace("topic", (), "/~drafts/topic", KEY.hex(), "http://control.example", "")
Peer = Callable[[Wire], Awaitable[None]]


def scope(path: str = "/hello") -> dict[str, Any]:
    token = make_token(KEY, 1 << 40).encode()
    return {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
        "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1), "scheme": "http",
        "headers": [(b"host", b"a"), (b"x-draft-token", token)],
    }  # fmt: skip


class Client:
    """Sends nothing more, and keeps what it is sent; it may leave."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.left = asyncio.Event()
        self._said = False

    async def receive(self) -> Any:
        if self._said:
            await self.left.wait()
            return {"type": "http.disconnect"}
        self._said = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(self, message: Any) -> None:
        self.sent.append(message)


def ask(peer: Peer, client: Client) -> Any:
    """Pass a request on to a process that behaves like `peer`."""

    async def do() -> Any:
        async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            wire = Wire(reader, writer)
            assert isinstance(await wire.read(), Head)
            try:
                await peer(wire)
            finally:
                wire.close()

        with tempfile.TemporaryDirectory(prefix="bbops-") as folder:
            path = str(Path(folder) / "draft")
            async with await asyncio.start_unix_server(meet, path):
                return await pass_on(path, scope(), client.receive, client.send, leads=False)

    return asyncio.run(do())


def test_an_answer_is_passed_on_part_by_part() -> None:
    async def peer(wire: Wire) -> None:
        await wire.write(Start(200, [(b"a", b"b")]))
        await wire.write(Part(b"one", more=True))
        await wire.write(Part(b"two", more=False))

    client = Client()
    assert ask(peer, client) == "answered"
    assert client.sent[0] == {
        "type": "http.response.start", "status": 200, "headers": [(b"a", b"b")],
    }  # fmt: skip
    assert [one["body"] for one in client.sent[1:]] == [b"one", b"two"]


def test_a_process_that_says_something_else_is_as_good_as_gone() -> None:
    async def says_nothing(wire: Wire) -> None:
        del wire

    async def begins_with_a_body(wire: Wire) -> None:
        await wire.write(Part(b"x", more=False))

    async def says_early_hints(wire: Wire) -> None:
        await wire.write(Start(103, []))

    for peer in (says_nothing, begins_with_a_body, says_early_hints):
        client = Client()
        assert ask(peer, client) == "gone"
        assert client.sent == []


def test_an_answer_that_is_cut_off_is_no_whole_one() -> None:
    async def ends_early(wire: Wire) -> None:
        await wire.write(Start(200, []))
        await wire.write(Part(b"half", more=True))

    async def begins_twice(wire: Wire) -> None:
        await wire.write(Start(200, []))
        await wire.write(Start(200, []))

    for peer in (ends_early, begins_twice):
        with pytest.raises(CutOff):
            ask(peer, Client())


def test_a_client_that_leaves_ends_the_request_in_the_process_too() -> None:
    heard: list[Any] = []
    client = Client()

    async def waits(wire: Wire) -> None:
        assert isinstance(await wire.read(), Part)
        client.left.set()
        heard.append(await wire.read())

    assert ask(waits, client) == "answered"
    assert (heard, client.sent) == ([None], [])


def test_no_process_is_no_answer() -> None:
    client = Client()
    work = pass_on("/nowhere/draft", scope(), client.receive, client.send, leads=False)
    assert asyncio.run(work) == "absent"


def test_an_answer_that_comes_before_the_whole_body_arrives() -> None:
    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 413, "headers": []})
        await send({"type": "http.response.body", "body": b"too large"})

    async def receive() -> Any:
        return {"type": "http.request", "body": b"x" * 1_000_000, "more_body": True}

    async def do(path: str) -> None:
        quiet = SimpleNamespace(hub=SimpleNamespace(topics={}))
        live: Any = SimpleNamespace(
            held=None, release=refuse, active_requests=ActiveRequests(), realtime=quiet
        )
        answering = Answering(live)
        await answering.start(path)
        for _ in range(20):
            client = Client()
            assert await pass_on(path, scope(), receive, client.send, leads=False) == "answered"
            assert client.sent[0]["status"] == 413
        await answering.stop(1)

    with tempfile.TemporaryDirectory(prefix="bbops-") as folder:
        asyncio.run(do(str(Path(folder) / "draft")))


@pytest.mark.parametrize("busy", ["share", "requests"])
def test_a_draft_that_takes_too_much_is_asked_for_patience(busy: str) -> None:
    async def do() -> list[Any]:
        drafts, client = Drafts(lambda _: None), Client()
        drafts.arrange({"small/~drafts/topic": PLACE})
        draft = drafts.find("small/~drafts/topic")
        assert draft is not None
        draft.be("/nowhere/draft", None, is_busy=busy == "share")
        draft.in_flight = MAX_REQUESTS if busy == "requests" else 0
        assert await drafts.answer(scope("/~drafts/topic/a"), client.receive, client.send)
        return client.sent

    start, body = asyncio.run(do())
    assert start["status"] == 429
    assert (b"retry-after", b"5") in start["headers"]
    assert b"draftBusy" in body["body"]


def test_a_branch_that_goes_lets_nobody_wait() -> None:
    async def do() -> list[Any]:
        drafts, client = Drafts(lambda _: None), Client()
        drafts.arrange({"small/~drafts/topic": PLACE})
        asking = drafts.answer(scope("/~drafts/topic/a"), client.receive, client.send)
        waiting = asyncio.create_task(asking)
        await asyncio.sleep(0)
        drafts.arrange({})
        await waiting
        return client.sent

    start, body = asyncio.run(do())
    assert (start["status"], b"draftGone" in body["body"]) == (503, True)
