"""The exchange of messages with other servers, one for each project on PostgreSQL with topics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress

from bbops.database.schema.place import PostgresPlace
from bbops.runtime.realtime.shared import SharedLog
from bbops_server.data_plane.live.swap import Live
from bbops_server.data_plane.realtime.fanout.center import Center
from bbops_server.data_plane.realtime.fanout.exchange import Exchange


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
