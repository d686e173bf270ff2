"""New rows of the change log, and the exchange of messages with other servers."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final

from bbops.base.host import Database
from bbops.database.schema.place import PostgresPlace
from bbops.runtime.realtime.rows import EPOCH
from bbops.runtime.realtime.shared import SharedLog
from bbops.runtime.values.failures import Failure
from bbops.runtime.work.rows import NO_ROWS, OPERATIONS, row_event
from bbops.runtime.work.statements import WorkDialect
from bbops_server.data_plane.live.swap import Live
from bbops_server.data_plane.realtime.fanout.center import Center
from bbops_server.data_plane.realtime.fanout.exchange import Exchange

LOOK_SECONDS: Final = 1.0
"""Between two looks where nobody says that something has happened: another server may have."""

SHORTEST_SECONDS: Final = 60.0
"""How long changes are kept at least, for servers that read them later."""

_AT_ONCE: Final = 500
_SCRUB_SECONDS: Final = 30.0
_FORGET: Final = f"UPDATE _bbops_events SET payload = '{NO_ROWS}' WHERE payload <> '{NO_ROWS}'"
_log = logging.getLogger(__name__)

Tell = Callable[[int, str, str], None]
"""Takes a change: its number, its name, and its payload."""


def names_of(tables: Mapping[str, float]) -> list[str]:
    """Return the names that changes of tables have in the log."""
    return [row_event(table, one) for table in tables for one in OPERATIONS]


class RowTail:
    """The end of the log of one project. `woken` is set once something was written into it."""

    def __init__(self, database: Database, dialect: WorkDialect, tell: Tell) -> None:
        """`tell` takes each change of a table in `tables`."""
        self._database, self._dialect, self._tell = database, dialect, tell
        self.woken = asyncio.Event()
        self._tables: Mapping[str, float] = {}
        self._is_new = True
        self._ends: deque[tuple[float, int]] = deque()
        self._emptied = dict[str, int]()

    @property
    def tables(self) -> Mapping[str, float]:
        """Tables whose changes are told, and for how many seconds they are kept."""
        return self._tables

    @tables.setter
    def tables(self, tables: Mapping[str, float]) -> None:
        self._is_new = self._is_new or tables != self._tables
        self._tables = tables
        self.woken.set()

    async def run(self) -> None:
        """Tell until cancelled; a database that is away for a while is asked again."""
        at: int | None = None
        while True:
            self.woken.clear()
            try:
                if self._is_new:
                    await self._begin()
                    self._is_new = False
                if at is None:
                    at = await self._end()
                while (found := await self._read(at)) is not None:
                    at = found
                await self._forget_old(at)
            except Failure as failure:
                _log.warning("changed rows wait for the database: %s", failure.message)
            await self._wait()

    async def _begin(self) -> None:
        """Name the numbers of the log, once; forget rows that no topic shows any more."""
        if self._tables:
            await self._database.change(
                "INSERT INTO _bbops_notes (name, text) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
                (EPOCH, secrets.token_hex(6)),
            )
        if await self._database.read("SELECT 1 FROM _bbops_notes WHERE name = ?", (EPOCH,)):
            names = json.dumps(names_of(self._tables))
            others = f"name LIKE '%:%' AND name NOT IN ({self._dialect.texts})"
            await self._database.change(f"{_FORGET} AND {others}", (names,))

    async def _end(self) -> int:
        rows = await self._database.read("SELECT coalesce(max(seq), 0) FROM _bbops_events")
        return int(rows[0][0])

    async def _read(self, at: int) -> int | None:
        """Tell of what follows; return where that ends, None where nothing follows."""
        if not self._tables:
            return None
        names = json.dumps(names_of(self._tables))
        rows = await self._database.read(
            f"SELECT seq, name, payload FROM _bbops_events WHERE name IN ({self._dialect.texts})"
            f" AND seq > ? ORDER BY seq LIMIT {_AT_ONCE}",
            (names, at),
        )
        for number, name, payload in rows:
            if payload != NO_ROWS:
                self._tell(number, name, payload)
        return int(rows[-1][0]) if rows else None

    async def _forget_old(self, end: int) -> None:
        """Forget rows that were kept for their time: those before where the log ended then.

        After a start they are kept for that time once more.
        """
        now = asyncio.get_running_loop().time()
        if self._ends and now < self._ends[-1][0] + _SCRUB_SECONDS:
            return
        self._ends.append((now, end))
        for table, seconds in self._tables.items():
            before = now - max(seconds, SHORTEST_SECONDS)
            past = max((number for when, number in self._ends if when <= before), default=0)
            if past > self._emptied.get(table, 0):
                await self._empty(table, past)
        longest = max(SHORTEST_SECONDS, *self._tables.values(), 0.0) + 2 * _SCRUB_SECONDS
        while self._ends[0][0] < now - longest:
            self._ends.popleft()

    async def _empty(self, table: str, last: int) -> None:
        names = json.dumps(names_of({table: 0}))
        old = f"name IN ({self._dialect.texts}) AND seq > ? AND seq <= ?"
        given = (names, self._emptied.get(table, 0), last)
        await self._database.change(f"{_FORGET} AND {old}", given)
        self._emptied[table] = last

    async def _wait(self) -> None:
        """Wait for the next look; without tables, until there are some."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS if self._tables else None):
                await self.woken.wait()


# ---- The exchange of messages with other servers, one for each project on PostgreSQL with topics


class Exchanges:
    """What runs, by project."""

    def __init__(self, center: Center) -> None:
        self._center = center
        self._running: dict[str, tuple[PostgresPlace, asyncio.Task[None]]] = {}

    async def follow(self, project: str, live: Live) -> None:
        """Exchange the messages of what is live now, from the database that it uses now."""
        place, running = live.realtime.place, self._running.get(project)
        if running is not None and running[0] == place:
            return
        await self.stop(project)
        if isinstance(place, PostgresPlace) and live.realtime.has_topics:
            exchange = Exchange(self._center, live.realtime.project, _sharing(place))
            self._running[project] = place, asyncio.create_task(exchange.run())

    async def stop(self, project: str) -> None:
        """Exchange no more messages of a project."""
        running = self._running.pop(project, None)
        if running is not None:
            running[1].cancel()
            with suppress(asyncio.CancelledError):
                await running[1]

    async def stop_all(self) -> None:
        """Exchange no more messages."""
        for project in tuple(self._running):
            await self.stop(project)


def _sharing(
    place: PostgresPlace,
) -> Callable[[Callable[[], None]], AbstractAsyncContextManager[SharedLog]]:
    from bbops.database.postgres.publications import share_publications  # noqa: PLC0415 - an extra

    def share(woken: Callable[[], None]) -> AbstractAsyncContextManager[SharedLog]:
        return share_publications(place, woken)

    return share
