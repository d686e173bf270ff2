"""The log of published messages that servers share, on a real PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import asyncpg
import psycopg
import pytest

from bbops.base.errors import DatabaseError
from bbops.database.migrate import migrate, rollout
from bbops.database.postgres.publications import _LOCK, PostgresLog, share_publications
from bbops.database.schema.place import PostgresPlace
from bbops.runtime.realtime.shared import CAME, GONE, KEPT, LEFT, TOLD, Entry

Story = Callable[..., Awaitable[None]]


def tell(place: PostgresPlace, story: Story, servers: int = 2) -> None:
    """Run a story with the logs of some servers, each of which has an event that wakes it."""
    rollout.expand(place, {})

    async def main() -> None:
        async with AsyncExitStack() as stack:
            logs = []
            for _ in range(servers):
                woken = asyncio.Event()
                log = await stack.enter_async_context(share_publications(place, woken.set))
                logs.append((log, woken))
            await story(*logs)

    asyncio.run(asyncio.wait_for(main(), 60))


def kept(name: str, data: bytes = b"x") -> Entry:
    return Entry(KEPT, name, "", data, 10, 60.0)


async def names(log: PostgresLog, after: int = 0) -> list[tuple[str, bytes]]:
    return [(one.entry.name, one.entry.data) for one in await log.read(after)]


Server = tuple[PostgresLog, asyncio.Event]


def test_what_one_writes_the_others_read_in_order_and_are_woken(schema: PostgresPlace) -> None:
    async def story(one: Server, two: Server) -> None:
        await two[0].load()
        await one[0].write([kept("a"), Entry(TOLD, "b", "", b"news"), kept("c")])
        await one[0].notify()
        await two[1].wait()
        assert await names(two[0]) == [("a", b"x"), ("b", b"news"), ("c", b"x")]
        assert await names(one[0]) == [("a", b"x"), ("b", b""), ("c", b"x")]  # b was delivered
        number = (await two[0].read(0))[1].number
        assert await names(two[0], number) == [("c", b"x")]

    tell(schema, story)


def test_writers_take_turns_so_that_who_sees_a_number_sees_all_below_it(
    schema: PostgresPlace,
) -> None:
    async def story(*servers: Server) -> None:
        *writers, (reader, _) = servers
        seen: list[int] = []

        async def write(log: PostgresLog, whose: int) -> None:
            for number in range(40):
                await log.write([kept(f"{whose}", b"%d" % each) for each in range(number % 5 + 1)])

        async def read() -> None:
            while len(seen) < 3 * sum(number % 5 + 1 for number in range(40)):
                seen.extend(one.number for one in await reader.read(seen[-1] if seen else 0))

        writing = (write(log, whose) for whose, (log, _) in enumerate(writers))
        await asyncio.gather(read(), *writing)
        every = await reader.load()
        assert seen == sorted(seen)
        assert seen == [one.number for one in every.messages]

    tell(schema, story, servers=4)


def test_who_begins_gets_what_is_kept_and_who_is_there(schema: PostgresPlace) -> None:
    async def story(one: Server, two: Server) -> None:
        log = one[0]
        await log.write([kept("a", b"1"), Entry(TOLD, "a", "", b"2"), kept("b", b"3")])
        await log.write([
            Entry(CAME, "a", "ann", b"{}"), Entry(CAME, "a", "bob", b"{}"),
            Entry(LEFT, "a", "bob"), Entry(LEFT, "a", "eve"), Entry(CAME, "a", "eve", b"[]"),
        ])  # fmt: skip
        found = await two[0].load()
        assert [one.entry.data for one in found.messages] == [b"1", b"3"]
        assert found.number == (await two[0].read(0))[-1].number
        assert sorted((one.client, one.shown) for one in found.present) == [
            ("ann", b"{}"), ("eve", b"[]"),
        ]  # fmt: skip
        assert (await log.load()).present == []  # its own it knows
        assert (await log.load()).epoch == found.epoch

    tell(schema, story)


def test_what_is_dropped_is_on_record_and_nobody_recovers_past_it(schema: PostgresPlace) -> None:
    async def story(one: Server, two: Server) -> None:
        log = one[0]
        await log.write([kept("a", b"%d" % number) for number in range(4)] + [kept("b")])
        numbers = [each.number for each in await log.read(0)]
        await log.drop({"a": numbers[2]})
        found = await two[0].load()
        assert [(one.entry.name, one.entry.data) for one in found.messages] == [
            ("a", b"3"), ("b", b"x"),
        ]  # fmt: skip
        assert (found.dropped, found.floor) == ({"a": numbers[2]}, 0)
        await log.drop({"a": numbers[0]})
        assert (await two[0].load()).dropped == {"a": numbers[2]}
        with psycopg.connect(schema.address) as connection:
            connection.execute("UPDATE _bbops_topics SET at = at - 100000 WHERE name <> ''")
            connection.execute("UPDATE _bbops_publications SET at = at - 100 WHERE kind <> 'kept'")
        await log.drop({})
        found = await two[0].load()
        assert (found.dropped, found.floor) == ({}, numbers[2])

    tell(schema, story)


def test_entries_that_nobody_recovers_go_after_a_minute(schema: PostgresPlace) -> None:
    async def story(one: Server, two: Server) -> None:
        await one[0].write([Entry(TOLD, "a", "", b"1"), kept("a"), Entry(LEFT, "a", "ann")])
        await one[0].drop({})
        assert len(await two[0].read(0)) == 3
        with psycopg.connect(schema.address) as connection:
            connection.execute("UPDATE _bbops_publications SET at = at - 61")
        await one[0].drop({})
        assert await names(two[0]) == [("a", b"x")]
        assert (await two[0].load()).number == 3

    tell(schema, story)


def test_a_server_that_is_gone_is_buried_once_and_one_that_lives_never(
    schema: PostgresPlace,
) -> None:
    async def story(one: Server, two: Server) -> None:
        async with share_publications(schema, lambda: None) as gone:
            await gone.write([Entry(CAME, "a", "eve", b"{}")])
            await one[0].write([Entry(CAME, "a", "ann", b"{}")])
            await two[0].bury([one[0].owner, gone.owner])
            assert len((await two[0].load()).present) == 2
        while len((await two[0].load()).present) == 2:  # its connection ends in a moment
            await two[0].bury([one[0].owner, gone.owner])
        last = (await one[0].read(0))[-1].entry
        assert (last.kind, last.name) == (GONE, gone.owner)
        assert [one.client for one in (await two[0].load()).present] == ["ann"]

    tell(schema, story)


def test_emptied_tables_are_another_epoch(schema: PostgresPlace) -> None:
    async def story(one: Server, two: Server) -> None:
        before = await one[0].load()
        with psycopg.connect(schema.address) as connection:
            connection.execute("TRUNCATE _bbops_publications, _bbops_topics, _bbops_present")
        assert (await two[0].load()).epoch != before.epoch

    tell(schema, story)


def test_a_connection_that_is_cut_wakes_its_server_and_says_so(schema: PostgresPlace) -> None:
    async def story(one: Server, two: Server) -> None:
        log, woken = one
        with psycopg.connect(schema.address, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s",
                (log._connection.get_server_pid(),),
            )
        await woken.wait()
        with pytest.raises(DatabaseError, match="messages cannot be shared"):
            await log.read(0)
        with pytest.raises(DatabaseError, match="messages cannot be shared"):
            await log.write([kept("a")])

    tell(schema, story)


def test_a_database_of_an_older_bbops_gets_the_tables(schema: PostgresPlace) -> None:
    migrate.apply(schema, {})
    with psycopg.connect(schema.address) as connection:
        connection.execute("DROP TABLE _bbops_publications, _bbops_topics, _bbops_present")
    rollout.expand(schema, {})

    async def story(one: Server) -> None:
        assert (await one[0].load()).messages == []

    tell(schema, story, servers=1)


@pytest.mark.long
def test_a_server_that_stops_in_a_transaction_stops_others_for_seconds_only(
    schema: PostgresPlace,
) -> None:
    async def story(one: Server, two: Server) -> None:
        async with one[0]._connection.transaction():
            await one[0]._connection.execute(_LOCK)
            await two[0].write([kept("a")])  # PostgreSQL ends the connection that holds the lock
            with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
                await one[0]._connection.execute("SELECT 1")
            raise DatabaseError("it is over")

    with pytest.raises((DatabaseError, asyncpg.InterfaceError)):
        tell(schema, story)
