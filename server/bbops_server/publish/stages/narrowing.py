"""Narrow the tables after a publication, once the previous release has no requests left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from bbops.base.errors import BbopsError
from bbops_server.process.messages.tables import NarrowTables
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.stages.stages import MIGRATE_SECONDS
from bbops_server.publish.status.status import Stalled, StatusBoard

PAUSES_SECONDS = (0.5, 2.0, 5.0, 15.0, 60.0, 300.0)
"""Pauses between attempts while rows break a rule; the last one repeats."""

REPORT_AFTER = 2
"""Failed attempts before a report: rows of the previous release may disappear on their own."""


class Narrowing:
    """Narrows the tables of a project in the background, one attempt at a time."""

    def __init__(
        self,
        context: Callable[[], PublishContext],
        board: StatusBoard,
        report: Callable[[Stalled], None],
    ) -> None:
        self._context, self._board, self._report = context, board, report
        self._working: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start narrowing, unless it is running."""
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())

    def stop(self) -> None:
        """Stop narrowing; a change that is running is completed or rolled back as a whole."""
        if self._working is not None:
            self._working.cancel()

    async def finish(self) -> None:
        """Narrow now, before tables change again; retry in the background if that fails."""
        self.stop()
        await self._drain()
        if not await self._narrow(reports=True):
            self.start()

    async def _work(self) -> None:
        await self._drain()
        attempts = 0
        while not await self._narrow(reports=attempts >= REPORT_AFTER):
            await asyncio.sleep(PAUSES_SECONDS[min(attempts, len(PAUSES_SECONDS) - 1)])
            attempts += 1

    async def _drain(self) -> None:
        at = self._context()
        with suppress(BbopsError):  # an unresponsive process does not serve requests either
            await at.plane.drain(at.project.name)

    async def _narrow(self, *, reports: bool) -> bool:
        """Return whether the tables are narrowed; `reports` says whether a failure is reported."""
        at = self._context()
        live = at.plane.find_live(at.project.name)
        request = NarrowTables(digest=live, **at.request_fields)
        try:
            answer = await at.build.ask(request, timeout_seconds=MIGRATE_SECONDS)
        except BbopsError as error:
            if reports:
                stalled = Stalled("NarrowingStalled", error.message, error.hint)
                if self._board.stall_narrowing(stalled):
                    self._report(stalled)
            return False
        self._board.narrowed(answer.hidden)
        return True
