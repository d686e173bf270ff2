"""Two servers on one PostgreSQL: their clients are in the same topics. One is killed."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from centrifuge import Client, PublicationContext, SubscribedContext, SubscriptionEventHandler

from bbops.database.postgres.opened import drop_schema
from bbops.database.schema.place import PostgresPlace
from bbops.source.git import store
from tests.support.patience import PATIENCE_SECONDS, eventually, patience, wait_for
from tests.support.postgres import control_of
from tests.support.processes import children
from tests.support.realtime import FILES, Talker, everything_else, say, talker
from tests.support.served import Served

pytestmark = pytest.mark.long

Start = Callable[[str], Served]


@pytest.fixture
def start(schema: PostgresPlace, tmp_path: Path) -> Iterator[Start]:
    """Return what starts a server of a name, with a clone and a state of its own."""
    running: list[Served] = []
    rooms = FILES["realtime/rooms.yaml"].replace("size: 100", "size: 1000")
    files = FILES | {"realtime/rooms.yaml": rooms}
    store.init(
        tmp_path / "talk", {name: text.encode() for name, text in files.items()}, message="a"
    )

    def start(name: str) -> Served:
        if not (tmp_path / name).exists():
            shutil.copytree(tmp_path / "talk", tmp_path / name)
        given = ["--schema", schema.schema]
        env = {"DATABASE_URL": schema.url, "JWT_SECRET": "of both servers, 32 characters long"}
        running.append(Served(tmp_path / name, tmp_path / f"{name}-home", *given, env=env))
        running[-1].live()
        return running[-1]

    yield start
    for one in running:
        one.stop()
    drop_schema(control_of(schema))


def kill(served: Served) -> None:
    """Kill every process of a server, as a machine that fails does."""
    pids = [served.process.pid, *children(served.process.pid)]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def texts(publications: list[dict[str, Any]]) -> list[str]:
    return [one["data"]["payload"]["text"] for one in publications]


def present(talking: Talker) -> int:
    return len(talking.ask("presence", channel="rooms/hall")["presence"])


def test_messages_and_history_are_those_of_both_servers(start: Start) -> None:
    one, two = start("one"), start("two")
    with talker(one) as ann, talker(two) as bob:
        for who in (ann, bob):
            who.subscribe("news")
            who.subscribe("rooms/hall")
        say(one, "hall", "1")
        assert [sorted(who.said(2)) for who in (ann, bob)] == [["1", "1"]] * 2
        say(two, "hall", "2")
        assert [sorted(who.said(2)) for who in (ann, bob)] == [["2", "2"]] * 2
        kept = [who.ask("history", channel="rooms/hall", limit=9) for who in (ann, bob)]
        assert kept[0] == kept[1]
        assert texts(kept[0]["publications"]) == ["1", "2"]
        back = bob.ask("unsubscribe", channel="rooms/hall") or bob.subscribe(
            "rooms/hall", recover=True, epoch=kept[0]["epoch"],
            offset=kept[0]["publications"][0]["offset"],
        )  # fmt: skip
        assert (texts(back["publications"]), back["recovered"]) == (["2"], True)


def test_clients_see_those_of_the_other_server_come_and_go_also_when_it_is_killed(
    start: Start,
) -> None:
    one, two = start("one"), start("two")
    with talker(one) as ann:
        ann.subscribe("rooms/hall", join_leave=True)
        with talker(two) as bob:
            bob.subscribe("rooms/hall", join_leave=True)
            assert "join" in ann.push()
            wait_for(lambda: present(ann) == present(bob) == 2)
        assert "leave" in ann.push()
        with talker(two) as eve:
            eve.subscribe("rooms/hall")
            assert "join" in ann.push()
            kill(two)
            assert "leave" in ann.push()
            assert present(ann) == 1


def test_who_comes_back_after_both_servers_were_killed_gets_what_was_missed(start: Start) -> None:
    one, two = start("one"), start("two")
    with talker(two) as bob:
        place = bob.subscribe("rooms/hall")
        say(one, "hall", "1")
        bob.said(1)
        say(two, "hall", "2")
        bob.said(1)
    kill(one)
    kill(two)
    asked = {"recover": True, "epoch": place["epoch"], "offset": place["offset"]}
    with talker(start("one")) as ann:
        back = ann.subscribe("rooms/hall", **asked)
        assert (texts(back["publications"]), back["recovered"]) == (["1", "2"], True)


class Door:
    """The one address of two servers: a connection goes to one of those that live."""

    def __init__(self, *served: Served) -> None:
        self.ports = [int(one.serving["url"].rpartition(":")[2]) for one in served]
        self.turn, self.tasks = 0, set[asyncio.Task[None]]()
        self.writers = list[asyncio.StreamWriter]()

    async def open(self) -> str:
        self.server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        return f"ws://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/~realtime"

    async def close(self) -> None:
        self.server.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for writer in self.writers:
            writer.transport.abort()
        ends = (writer.wait_closed() for writer in self.writers)
        await asyncio.gather(*ends, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.turn += 1
        self.writers.append(writer)
        for number in range(2):
            try:
                port = self.ports[(self.turn + number) % 2]
                there, to = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                continue
            self.writers.append(to)
            for pair in ((reader, to), (there, writer)):
                task = asyncio.create_task(self._pass(*pair))
                self.tasks.add(task)
            return
        writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()


class Noting(SubscriptionEventHandler):
    """Writes down what a client of `centrifuge` says."""

    def __init__(self) -> None:
        self.got, self.subscribed = list[str](), list[tuple[bool, bool]]()

    async def on_publication(self, ctx: PublicationContext) -> None:
        self.got.append(ctx.pub.data["payload"]["text"])

    async def on_subscribed(self, ctx: SubscribedContext) -> None:
        self.subscribed.append((ctx.was_recovering, ctx.recovered))


def test_unchanged_clients_miss_nothing_and_see_nothing_twice_when_a_server_is_killed(
    start: Start,
) -> None:
    servers = [start("one"), start("two")]

    async def story() -> None:
        door = Door(*servers)
        address = await door.open()
        notes = [Noting() for _ in range(6)]
        clients = [Client(address, max_reconnect_delay=0.2) for _ in notes]
        for client, note in zip(clients, notes, strict=True):
            await client.connect()
            hall = client.new_subscription("rooms/hall", events=note)
            await hall.subscribe()
            await hall.ready()
        said = await speak(servers)
        await eventually(lambda: all(str(said[1][-1]) in one.got for one in notes))
        for one in notes:
            assert one.got == notes[0].got
            assert len(one.got) == len(set(one.got))
            for number in (0, 1):  # each server sends in order
                assert [text for text in one.got if int(text) in said[number]] == [
                    str(text) for text in said[number]
                ]
            assert all(recovered for was, recovered in one.subscribed if was)
        assert sum(len(one.subscribed) - 1 for one in notes) >= 3
        for client in clients:
            await client.disconnect()
        await door.close()
        await everything_else()

    async def main() -> None:
        async with patience():
            await story()

    asyncio.run(main())


def connected(served: Served) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=served.serving["url"], timeout=PATIENCE_SECONDS)


async def speak(servers: list[Served]) -> tuple[list[int], list[int]]:
    """Say 400 things in turn; one server is killed on the way.

    What it said in its last moment may be lost: `publish` is at most once. Returns what each server
    said apart from that.
    """
    said: tuple[list[int], list[int]] = [], []
    one, two = (connected(each) for each in servers)
    for number in range(400):
        turn = number % 2 if number < 200 else 1
        answer = await (two if turn else one).post(
            "/say", json={"topic": "hall", "text": str(number)}
        )
        assert answer.status_code == 204
        if turn or number < 180:
            said[turn].append(number)
        if number == 200:
            await asyncio.to_thread(kill, servers[0])
    for client in (one, two):
        await client.aclose()
    return said


def test_a_database_that_cuts_connections_costs_no_message_that_is_kept(
    start: Start, schema: PostgresPlace
) -> None:
    one, two = start("one"), start("two")
    with talker(one) as ann, talker(two) as bob:
        places = [who.subscribe("rooms/hall") for who in (ann, bob)]
        say(one, "hall", "1")
        assert ann.said(1) == bob.said(1) == ["1"]
        cut(schema)
        for who in (ann, bob):
            assert who.push()["unsubscribe"]["code"] == 2500
        say(two, "hall", "2")
        for who, place in zip((ann, bob), places, strict=True):
            asked = {"recover": True, "epoch": place["epoch"], "offset": place["offset"]}
            back = who.subscribe("rooms/hall", **asked)
            assert back["recovered"] is True
            heard = texts(back.get("publications", []))
            assert heard + who.said(2 - len(heard)) == ["1", "2"]


def cut(schema: PostgresPlace) -> None:
    """End the connections that listen."""
    with psycopg.connect(schema.address, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
            " AND pid <> pg_backend_pid() AND pid IN (SELECT pid FROM pg_stat_activity"
            " WHERE query NOT LIKE '%pg_advisory_lock(hashtextextended%')"
        )
