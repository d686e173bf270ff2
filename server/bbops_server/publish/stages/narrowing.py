"""Narrow the tables behind a publication, once the release before has answered its last request."""

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
"""Between one try and the next while rows break a rule; the last one over and over."""

TOLD_AFTER = 2
"""Tries that fail before anybody is told: rows of the release before may go by themselves."""


class Narrowing:
    """What a project's publications leave to do; one at a time, in the background."""

    def __init__(
        self,
        context: Callable[[], PublishContext],
        board: StatusBoard,
        tell: Callable[[Stalled], None],
    ) -> None:
        self._context, self._board, self._tell = context, board, tell
        self._working: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, unless it is under way."""
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())

    def stop(self) -> None:
        """Leave it to the next start of the server; what is under way is made wholly or not."""
        if self._working is not None:
            self._working.cancel()

    async def finish(self) -> None:
        """Bring it to an end now, done or stalled, before tables change again."""
        self.stop()
        await self._drain()
        if not await self._is_narrowed(is_told=True):
            self.start()

    async def _work(self) -> None:
        await self._drain()
        tries = 0
        while not await self._is_narrowed(is_told=tries >= TOLD_AFTER):
            await asyncio.sleep(PAUSES_SECONDS[min(tries, len(PAUSES_SECONDS) - 1)])
            tries += 1

    async def _drain(self) -> None:
        at = self._context()
        with suppress(BbopsError):  # a process that does not answer answers no request either
            await at.plane.drain(at.project.name)

    async def _is_narrowed(self, *, is_told: bool) -> bool:
        at = self._context()
        live = at.plane.find_live(at.project.name)
        asked = NarrowTables(digest=live, **at.asked_of)
        try:
            answer = await at.build.ask(asked, timeout_seconds=MIGRATE_SECONDS)
        except BbopsError as error:
            if is_told:
                stalled = Stalled("NarrowingStalled", error.message, error.hint)
                if self._board.stall_narrowing(stalled):
                    self._tell(stalled)
            return False
        self._board.narrowed(answer.hidden)
        return True
