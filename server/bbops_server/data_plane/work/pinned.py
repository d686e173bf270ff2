"""Run each job on the code that it began with: that of the live release, or of one before it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

from bbops.base.errors import DatabaseError, ServerError
from bbops.database.open import Opened
from bbops.runtime.linking.work import Work
from bbops.runtime.values.failures import Failure
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.values import HeldError
from bbops_server.data_plane.work.pins import Code, Pins

LinkOld: TypeAlias = Callable[[Path], Awaitable[Work]]
"""Links the work of a release before the live one, of its artifact."""

_CHANGED: Final = "its function has changed since it began, and"


class PinnedWork:
    """The work of the live release, and of those before it that jobs have begun with."""

    def __init__(self, live: Work, pins: Pins, link: LinkOld, database: Opened) -> None:
        self._live, self._pins, self._link, self._database = live, pins, link, database
        self._old = dict[Code, Work]()

    async def run(self, recorded: RunRecord) -> str | None:
        """Run the function of a job; as `Work.run`.

        A job that has done nothing yet runs what is live. Code that does not fit the tables any
        more is not begun: its job is held.
        """
        code = recorded.job.work, recorded.code
        is_live = not recorded.code or self._live.codes.get(code[0]) == code[1]
        work = self._live if is_live else await self._find(code)
        if not is_live:
            await self._require_fitting(work, code[0])
        try:
            return await work.run(recorded)
        except Failure:  # the tables may have changed meanwhile
            if code[0] in work.codes:
                await self._require_fitting(work, code[0])
            raise

    async def _find(self, code: Code) -> Work:
        if code not in self._old:
            file = await asyncio.to_thread(self._pins.find, code)
            if file is None:
                raise HeldError(f"{_CHANGED} this server no longer has its old code")
            try:
                self._old[code] = await self._link(file)
            except (ServerError, Failure) as error:
                raise HeldError(f"{_CHANGED} its old code does not run: {error}") from None
        return self._old[code]

    async def _require_fitting(self, work: Work, name: str) -> None:
        """Raises: HeldError: a query of its code does not fit the tables."""
        for sql in dict.fromkeys(work.statements(name)):
            try:
                await self._database.prepare(sql)
            except DatabaseError as error:
                await self._database.read("SELECT 1")  # fails where the database is away
                message = f"the tables have changed since it began: {error.message}"
                raise HeldError(message) from None
