"""Keep the center of this server in step with the other servers of one project.

A loop of its own, on a connection of its own: no request and no project's transaction waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final

from bbops.base.errors import DatabaseError
from bbops.runtime.realtime.shared import PASSING_SECONDS, SharedLog
from bbops_server.data_plane.realtime.fanout.center import Center
from bbops_server.data_plane.realtime.fanout.copying import Copying

LOOK_SECONDS: Final = 1.0
"""Between two looks where nobody says that something was written."""

NOTIFY_SECONDS: Final = 0.05
"""Between two times that others are woken: each holds a lock of the whole database server."""

LATE_SECONDS: Final = PASSING_SECONDS * 3 / 4
"""Who has read nothing for longer begins again: entries may have gone before it read them."""

_DROP_SECONDS: Final = 20.0
_AT_ONCE, _BYTES_AT_ONCE = 500, 4 << 20
_log = logging.getLogger(__name__)

Share = Callable[[Callable[[], None]], AbstractAsyncContextManager[SharedLog]]
"""Opens the log; takes what is called when somebody has written."""


class Exchange:
    """The messages of one project, between its servers."""

    def __init__(self, center: Center, project: str, share: Share) -> None:
        """Wait for `run`.

        Args:
            center: numbers and delivers for this server.
            project: what the center knows it by.
            share: opens the log of the project.
        """
        self._copying, self._share = Copying(center, project), share
        self._woken = asyncio.Event()
        self._notified_at = self._looked_at = self._dropped_at = self._read_at = 0.0
        self._owes = False

    async def run(self) -> None:
        """Exchange until cancelled; a database that is away is tried again."""
        shared, is_away = self._copying.shared, False
        shared.woken = self._woken.set
        while True:
            try:
                async with self._share(self._woken.set) as log:
                    self._copying.begin(await log.load(), log.owner)
                    is_away, self._read_at = False, _now()
                    await self._follow(log)
            except DatabaseError as error:
                if not is_away:
                    _log.warning("%s", error.message)
                is_away = True
            except Exception:  # noqa: BLE001 - one project's messages take no other's along
                _log.exception("the exchange of messages failed and starts again")
            finally:
                self._copying.end()
            await asyncio.sleep(LOOK_SECONDS)
            self._copying.give_up()

    async def _follow(self, log: SharedLog) -> None:
        while True:
            self._woken.clear()
            await self._write(log)
            await self._read(log)
            await self._notify(log)
            await self._tidy(log)
            await self._wait()

    async def _write(self, log: SharedLog) -> None:
        while entries := self._copying.shared.take(_AT_ONCE, _BYTES_AT_ONCE):
            await log.write(entries)
            self._owes = True

    async def _read(self, log: SharedLog) -> None:
        if _now() > self._read_at + LATE_SECONDS:
            raise DatabaseError("messages were not read for too long, some may be gone")
        waiting = self._copying.shared.held
        while found := await log.read(self._copying.number):
            for one in found:
                self._copying.take(one)
        self._read_at = _now()
        self._copying.answer(waiting)

    async def _notify(self, log: SharedLog) -> None:
        now = _now()
        if self._owes and now >= self._notified_at + NOTIFY_SECONDS:
            self._owes, self._notified_at = False, now
            await log.notify()

    async def _tidy(self, log: SharedLog) -> None:
        """Look whether servers have ended, and now and then remove what is not kept any more."""
        now = _now()
        if now >= self._looked_at + LOOK_SECONDS:
            self._looked_at = now
            if others := self._copying.others:
                await log.bury(sorted(others))
        if now >= self._dropped_at + _DROP_SECONDS:
            self._dropped_at = now
            await log.drop(self._copying.dropped(PASSING_SECONDS))

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(NOTIFY_SECONDS if self._owes else LOOK_SECONDS):
                await self._woken.wait()


def _now() -> float:
    return asyncio.get_running_loop().time()
