"""Centers of several servers on one real log: no gap, nothing twice, nobody is forgotten."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from itertools import count

import pytest

from bbops.database.migrate import migrate
from bbops.database.postgres.publications import share_publications
from bbops.database.schema.place import PostgresPlace
from bbops_server.data_plane.realtime.fanout.center import Center
from bbops_server.data_plane.realtime.fanout.exchange import Exchange
from bbops_server.data_plane.realtime.fanout.frames import (
    Down,
    Join,
    Look,
    Lost,
    Moved,
    Part,
    Said,
    Say,
    Seen,
)
from bbops_server.data_plane.realtime.fanout.shared import WAIT_SECONDS, name_shared
from tests.support.patience import patience

PROJECT = name_shared("p")
NUMBERS = count()
SIZE, SECONDS = 10_000, 3600.0


class Server:
    """A server: a center, its exchange, and one process with its clients."""

    def __init__(self, place: PostgresPlace) -> None:
        self.place, self.asks = place, count(1)
        self.clients: dict[int, Client] = {}
        self.looking: dict[int, asyncio.Future[Seen]] = {}
        self.start()

    def start(self) -> None:
        self.center = Center(has_servers=True)
        self.center.add(self)
        exchange = Exchange(
            self.center, PROJECT, lambda woken: share_publications(self.place, woken)
        )
        self.task = asyncio.create_task(exchange.run())

    async def kill(self) -> None:
        """End without a word, and begin again as another one; clients are cut off."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        clients, self.clients = {*self.clients.values()}, {}
        self.start()
        for one in clients:
            one.cut()

    def say(self, text: str) -> None:
        self.center.hear(None, Say(PROJECT, "hall", text.encode(), True, SIZE, SECONDS))  # noqa: FBT003

    async def look(self) -> Seen:
        ask, found = next(self.asks), asyncio.get_running_loop().create_future()
        self.looking[ask] = found
        self.center.hear(self, Look(ask, PROJECT, "hall", most=SIZE))
        return await found

    def tell(self, frame: Down) -> None:
        if isinstance(frame, Seen) and frame.ask in self.looking:
            self.looking.pop(frame.ask).set_result(frame)
        elif isinstance(frame, Seen):
            self.clients[frame.ask].begin(frame)
        elif isinstance(frame, Said):
            for one in {*self.clients.values()}:
                one.take(frame.offset, frame.data)
        elif isinstance(frame, Lost):
            clients, self.clients = {*self.clients.values()}, {}
            for one in clients:
                one.cut()


class Client:
    """Somebody who reads the topic, and comes back to any server."""

    def __init__(self, name: str, servers: list[Server], chance: random.Random) -> None:
        self.name, self.servers, self.chance = name, servers, chance
        self.got: list[str] = []
        self.begun, self.lost, self.is_there = -1, 0, False
        self.place: tuple[str, int] | None = None
        self.at: Server | None = None

    def join(self) -> None:
        self.at = self.chance.choice(self.servers)
        ask, self.name = next(self.at.asks), f"{self.name.partition('-')[0]}-{next(NUMBERS)}"
        self.at.clients[ask] = self
        epoch, offset = self.place or ("", 0)
        self.at.center.hear(self.at, Join(
            ask, PROJECT, "hall", self.name, b"{}", SIZE, SECONDS, self.place is not None, epoch,
            offset,
        ))  # fmt: skip

    def begin(self, seen: Seen) -> None:
        assert not seen.is_away
        assert not seen.refusal
        if self.place is None:
            self.begun = seen.offset
        elif not seen.recovered:
            self.lost += 1
        self.is_there = True
        for number, data in seen.messages:
            self.take(number, data)
        self.place = seen.epoch, seen.offset

    def take(self, number: int, data: bytes) -> None:
        if (self.is_there and self.place is not None) or self.is_there:
            self.got.append(data.decode())
            self.place = (self.place or ("", 0))[0], number

    def leave(self) -> None:
        """Go on purpose, and come back later."""
        if self.at is not None and self.is_there:
            self.at.clients = {ask: one for ask, one in self.at.clients.items() if one is not self}
            self.at.center.hear(self.at, Part(PROJECT, "hall", self.name))
            self.at, self.is_there = None, False

    def cut(self) -> None:
        self.is_there, self.at = False, None
        self.join()


def tell(place: PostgresPlace, story: Callable[[list[Server]], Awaitable[None]]) -> None:
    migrate.apply(place, {})

    async def main() -> None:
        servers = [Server(place) for _ in range(3)]
        async with patience():
            await story(servers)
        for one in servers:
            one.task.cancel()
        await asyncio.gather(*(one.task for one in servers), return_exceptions=True)

    asyncio.run(main())


async def until(what: Callable[[], Awaitable[bool]]) -> None:
    while not await what():
        await asyncio.sleep(0.01)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_each_client_has_the_same_sequence(
    schema: PostgresPlace, seed: int
) -> None:
    async def story(servers: list[Server]) -> None:
        chance = random.Random(seed)
        clients = [Client(f"c{number}", servers, chance) for number in range(12)]
        for one in clients:
            one.join()
        for number in range(600):
            chance.choice(servers).say(f"m{number}")
            if number % 40 == 20:
                await servers[1 + number // 40 % 2].kill()
            elif chance.random() < 0.2:
                one = chance.choice(clients)
                one.leave() if one.at is not None else one.join()
            if chance.random() < 0.7:
                await asyncio.sleep(chance.random() / 100)
        for one in clients:
            if one.at is None:
                one.join()
        await until(lambda: agree(servers, clients))
        messages = (await servers[0].look()).messages
        for one in clients:
            assert one.lost == 0
            assert one.got == [data.decode() for at, data in messages if at > one.begun]
        texts = [data.decode() for _, data in messages]
        assert len(texts) == len(set(texts)) > 300

    tell(schema, story)


async def agree(servers: list[Server], clients: list[Client]) -> bool:
    """Return whether all servers have the same messages, and show every client."""
    seen = [await one.look() for one in servers]
    wanted = {one.name for one in clients}
    return (
        all({*one.present} == wanted for one in seen)
        and all(one.messages == seen[0].messages for one in seen)
        and all(one.is_there and one.place is not None for one in clients)
        and {one.got[-1] for one in clients} == {seen[0].messages[-1][1].decode()}
    )


def test_who_subscribes_while_the_database_is_away_hears_that_in_time() -> None:
    now = [0.0]
    center, told = Center(lambda: now[0], has_servers=True), list[Down]()

    class Process:
        def tell(self, frame: Down) -> None:
            told.append(frame)

    process = Process()
    center.add(process)
    center.hear(process, Join(1, PROJECT, "hall", "ann", b"{}", 10, 60.0))
    center.hear(process, Look(2, PROJECT, "hall"))
    assert told == []
    now[0] += WAIT_SECONDS + 6
    center.hear(process, Look(3, PROJECT, "hall"))
    assert [(one.ask, one.is_away) for one in told if isinstance(one, Seen)] == [
        (1, True), (2, True),
    ]  # fmt: skip
    assert not any(isinstance(one, Moved) for one in told)
