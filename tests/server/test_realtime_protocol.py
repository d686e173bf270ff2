"""Whatever a client sends: nothing is raised, and nobody else hears of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.compiler.compile.release import build
from bbops.database.migrate import migrate
from bbops.runtime.linking.work import link_work
from bbops.runtime.realtime.linking import Identity
from bbops.source.tree import MemoryTree
from bbops_server.data_plane.live.swap import Live
from bbops_server.data_plane.realtime import hub, protocol, session
from bbops_server.data_plane.realtime.hub import Hub
from bbops_server.data_plane.realtime.serving import answer_request, serve_socket
from bbops_server.data_plane.realtime.session import Session
from bbops_server.process.host.log import JsonLog
from bbops_server.process.host.system import SystemClock, SystemRandom
from tests.conftest import ENV, NOTES, PROJECT, Files
from tests.support.patience import eventually

SCOPE = {
    "type": "websocket", "method": "GET", "path": "/~realtime", "query_string": b"",
    "headers": [(b"host", b"a")], "client": ("127.0.0.1", 1), "scheme": "ws",
}  # fmt: skip
BOARD = """
topic: boards/:id
authentication: None
publish: params.id != 'closed'
history: { size: 3, for: 1h }
presence: { show: { id: params.id } }
events:
  note.added: { title: string }
"""
FILES = {"project.yaml": PROJECT, "tables/notes.yaml": NOTES, "realtime/board.yaml": BOARD}


class Client:
    """A client of a hub in this process: what it was sent, object by object."""

    def __init__(self, hub: Hub) -> None:
        self.sent: list[dict[str, Any]] = []
        self.closed = 0
        scope = dict(SCOPE)
        self.session = Session(hub, self._send, Identity(scope), handed=None)

    async def _send(self, message: Any) -> None:
        if message["type"] == "websocket.close":
            self.closed = message["code"]
        else:
            self.sent += [json.loads(line) for line in message["text"].split("\n")]

    async def take(self, *commands: Any) -> None:
        lines = [one if isinstance(one, str) else json.dumps(one) for one in commands]
        await self.session.take("\n".join(lines))
        for _ in range(3):
            await asyncio.sleep(0)

    async def connect(self) -> None:
        await self.take({"id": 1, "connect": {}})


async def link(folder: Path, live: Live, files: Files = FILES, name: str = "r1") -> None:
    """Build a release and let it answer."""
    built = build(MemoryTree(files))
    assert built.project is not None, built.diagnostics
    tables = {name: found.model for name, found in built.project.tables.items()}
    migrate.apply(folder / "data.sqlite", tables)
    path = folder / built.digest
    path.write_bytes(built.artifact)
    env = {"GREETING": "hi", **ENV}
    await live.link(path, name=name, env=env, database=folder / "data.sqlite")
    live.swap(name)


def run(folder: Path, test: Callable[[Live], Awaitable[None]]) -> None:
    async def main() -> None:
        live = Live(clock=SystemClock(), random=SystemRandom(), log=JsonLog())
        await link(folder, live)
        await test(live)
        await live.close()
        await asyncio.sleep(0)

    asyncio.run(main())


def frames() -> st.SearchStrategy[str]:
    """Return frames that are near to commands, or anything."""
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
        max_leaves=6,
    )
    fields = st.sampled_from(
        ["channel", "token", "data", "recover", "epoch", "offset", "limit", "since", "reverse"]
    )
    names = st.sampled_from([*protocol.Command.__struct_fields__, "nothing"])
    given_ = st.dictionaries(fields, values | st.sampled_from(["boards/1", "boards/2"]))
    command = st.fixed_dictionaries({"id": st.integers(-1, 5) | values}) | st.builds(
        lambda number, name, given: {"id": number, name: given}, st.integers(0, 9), names, given_
    )
    lines = st.lists(command.map(json.dumps) | st.text(max_size=20), max_size=4)
    return lines.map("\n".join) | st.text(max_size=60)


def test_any_frames_raise_nothing_and_reach_nobody_else(tmp_path: Path) -> None:
    async def test(live: Live) -> None:
        hub, loop = live.realtime.hub, asyncio.get_running_loop()
        problems: list[Any] = []
        loop.set_exception_handler(lambda _, context: problems.append(context))
        watcher = Client(hub)
        await watcher.connect()
        await watcher.take({"id": 2, "subscribe": {"channel": "boards/closed"}})
        watcher.sent.clear()
        examples: list[list[str]] = []

        @given(st.lists(frames(), max_size=5))
        def collect(found: list[str]) -> None:
            examples.append(found)

        collect()
        for found in examples:
            eve = Client(hub)
            await eve.connect()
            for frame in found:
                await eve.take(frame)
            assert eve.closed in {0, 3500, 3501, 3005}
            eve.session.forget()
        assert len(examples) > 50
        assert [one for one in watcher.sent if one] == []  # a ping may come, which is empty
        assert problems == []
        assert len(hub.connections) == 1
        assert [one.name for one in hub.rooms.every] == ["boards/closed"]

    run(tmp_path, test)


@pytest.mark.parametrize("command", [
    {"id": 10**30, "unsubscribe": {"channel": "boards/1"}},
    {"id": 2, "subscribe": {"channel": "boards/1", "recover": True, "offset": 10**30}},
    {"id": 2, "history": {"channel": "boards/1", "since": {"offset": 10**30}}},
])  # fmt: skip
def test_a_number_that_no_process_can_be_told_ends_the_connection(
    tmp_path: Path, command: dict[str, Any]
) -> None:
    async def test(live: Live) -> None:
        eve = Client(live.realtime.hub)
        await eve.connect()
        await eve.take(command)
        assert eve.closed == 3501

    run(tmp_path, test)


def test_a_command_before_connect_ends_the_connection(tmp_path: Path) -> None:
    async def test(live: Live) -> None:
        eve = Client(live.realtime.hub)
        await eve.take({"id": 1, "subscribe": {"channel": "boards/1"}})
        assert (eve.sent, eve.closed) == ([], 3501)
        assert not live.realtime.hub.connections

    run(tmp_path, test)


def test_who_says_nothing_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "CONNECT_SECONDS", 0.01)

    async def test(live: Live) -> None:
        eve = Client(live.realtime.hub)
        await eventually(lambda: eve.closed)
        assert eve.closed == 3502

    run(tmp_path, test)


def test_who_answers_no_ping_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "_SECOND", 0)  # a turn of the event loop

    async def test(live: Live) -> None:
        silent, lively = Client(live.realtime.hub), Client(live.realtime.hub)
        await silent.connect()
        await lively.connect()
        while not silent.closed:
            if {} in lively.sent:
                lively.sent.remove({})
                await lively.take("{}")
            await asyncio.sleep(0)
        assert (silent.closed, lively.closed) == (3012, 0)

    run(tmp_path, test)


def test_who_reads_too_slowly_is_closed_and_costs_others_nothing(tmp_path: Path) -> None:
    async def test(live: Live) -> None:
        hub = live.realtime.hub
        slow, fast = Client(hub), Client(hub)
        reads = asyncio.Event()

        async def send(message: Any) -> None:
            if message["type"] == "websocket.close":
                slow.closed = message["code"]
            else:
                await reads.wait()

        slow.session._out._send = send
        for one in (slow, fast):
            await one.connect()
            await one.take({"id": 2, "subscribe": {"channel": "boards/1"}})
        for number in range(300):
            await fast.take({
                "id": 3 + number, "publish": {
                    "channel": "boards/1",
                    "data": {"event": "note.added", "payload": {"title": str(number)}},
                },
            })  # fmt: skip
        assert (slow.closed, fast.closed) == (3008, 0)
        got = [one["push"]["pub"]["offset"] for one in fast.sent if "push" in one]
        assert [number for number in got if number] == list(range(1, 301))
        assert len(hub.rooms.every) == 1

    run(tmp_path, test)


async def no_more() -> None:
    """Do nothing meanwhile."""


async def read_events(hub: Hub, last: str, meanwhile: Callable[[], Any] = no_more) -> bytes:
    """Return what a stream of events sends until it waits, or ends."""
    sent, gone = list[bytes](), asyncio.Event()

    async def receive() -> dict[str, str]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    told = [(b"host", b"a"), (b"last-event-id", last.encode())]
    scope = {**SCOPE, "type": "http", "path": "/~realtime/boards/1", "headers": told}
    reading = asyncio.create_task(answer_request(hub, scope, receive, send))
    for _ in range(20):
        await asyncio.sleep(0)
    await meanwhile()
    for _ in range(20):
        await asyncio.sleep(0)
    gone.set()
    await reading
    return b"".join(sent)


def test_a_stream_of_events_goes_on_without_a_gap_however_many_come(tmp_path: Path) -> None:
    async def test(live: Live) -> None:
        long = BOARD.replace("size: 3", "size: 1000")
        await link(tmp_path, live, {**FILES, "realtime/board.yaml": long}, "r2")
        hub = live.realtime.hub

        async def publish() -> None:
            (topic, _) = hub.topics.find("boards/1") or pytest.fail("no topic")
            for number in range(400):
                message = {"event": "note.added", "payload": {"title": str(number)}}
                await hub.publish(topic, "boards/1", json.dumps(message).encode())

        first = await read_events(hub, "", publish)
        assert b"data: " not in first  # more than may wait: it ends
        assert hub.dropped == 1
        last = first.partition(b"id: ")[2].split()[0].decode()
        found = await read_events(hub, last)
        assert found.count(b"data: ") == 400

    run(tmp_path, test)


def test_who_has_missed_much_has_time_to_read_it(tmp_path: Path) -> None:
    async def test(live: Live) -> None:
        long = BOARD.replace("size: 3", "size: 1000")
        await link(tmp_path, live, {**FILES, "realtime/board.yaml": long}, "r2")
        hub, reads = live.realtime.hub, asyncio.Event()
        (topic, _) = hub.topics.find("boards/1") or pytest.fail("no topic")
        message = {"event": "note.added", "payload": {"title": "x" * 60_000}}
        data, back = json.dumps(message).encode(), Client(hub)
        await hub.publish(topic, "boards/1", data)
        epoch = (await hub.look("boards/1")).epoch
        for _ in range(40):
            await hub.publish(topic, "boards/1", data)

        async def send(message: Any) -> None:
            await reads.wait()
            await back._send(message)

        await back.connect()
        back.session._out._send = send
        asked = {"channel": "boards/1", "recover": True, "epoch": epoch, "offset": 1}
        await back.take({"id": 2, "subscribe": asked})
        await hub.publish(topic, "boards/1", data)
        await hub.publish(topic, "boards/1", data)
        assert not back.session.is_closed
        for _ in range(40):
            await hub.publish(topic, "boards/1", data)
        assert back.session.is_closed
        reads.set()

    run(tmp_path, test)


def test_a_release_judges_subscriptions_again_and_disconnects_nobody(tmp_path: Path) -> None:
    async def test(live: Live) -> None:
        hub = live.realtime.hub
        clients = [Client(hub) for _ in range(3)]
        for number, one in enumerate(clients):
            await one.connect()
            await one.take({"id": 2, "subscribe": {"channel": f"boards/{number}"}})
            one.sent.clear()
        only = BOARD.replace("publish:", "subscribe: params.id == '1'\npublish:")
        await link(tmp_path, live, FILES | {"realtime/board.yaml": only}, "r2")
        await eventually(lambda: len(hub.rooms.every) == 1)
        ended = {"code": 2000, "reason": "permission ended"}
        assert [one.sent for one in clients] == [
            [{"push": {"channel": "boards/0", "unsubscribe": ended}}], [],
            [{"push": {"channel": "boards/2", "unsubscribe": ended}}],
        ]  # fmt: skip
        await link(tmp_path, live, FILES | {"realtime/board.yaml": BOARD.replace("boards/", "b/")})
        await eventually(lambda: not hub.rooms.every)
        assert len(hub.connections) == 3
        assert [one.closed for one in clients] == [0, 0, 0]

    run(tmp_path, test)


def test_a_handshake_is_refused_where_there_are_no_topics_or_too_many_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def status(hub: Hub) -> int:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await serve_socket(hub, dict(SCOPE), receive, send)
        return int(sent[0]["status"])

    async def test(live: Live) -> None:
        monkeypatch.setattr("bbops_server.data_plane.realtime.hub.MOST_CLIENTS", 0)
        assert await status(live.realtime.hub) == 503
        without = {"project.yaml": PROJECT, "tables/notes.yaml": NOTES}
        await link(tmp_path, live, without, "r2")
        assert await status(live.realtime.hub) == 404

    run(tmp_path, test)


def test_a_project_with_topics_alone_has_no_work_and_links_in_the_work_process(
    tmp_path: Path,
) -> None:
    async def test(live: Live) -> None:
        built = build(MemoryTree(FILES))
        assert live.release is not None
        work = link_work(built.artifact, live.release)
        assert (work.kept_rows, work.keeps, work.codes) == ({}, {}, {})

    run(tmp_path, test)
