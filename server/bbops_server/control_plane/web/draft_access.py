"""Say who may see drafts: a token of a draft ends with the role or the account of its person.

Data processes hold no account, so they are told the marks of all members whenever those change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final

from bbops.base.errors import BbopsError
from bbops_server.accounts.book import Book
from bbops_server.accounts.errors import ControlAway
from bbops_server.data_plane.drafts.keys import Marks, mark_of

LOOK_SECONDS: Final = 1.0
FOREIGN_SECONDS: Final = 5.0
"""`bbops users`, and other servers, write into the book without a word to this process."""

_log = logging.getLogger(__name__)


class Admitting:
    """Follows the book of one control plane; `tell` lets every data process know."""

    def __init__(self, book: Book, tell: Callable[[Marks], Awaitable[None]]) -> None:
        self._book, self._tell = book, tell
        self._told: Marks = {}
        self._edition: object = None
        self._looked_at = 0.0
        self._one_at_a_time = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Follow the book until `stop`."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Tell nothing any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def know(self, person: str, project: str) -> None:
        """Return once somebody who has just got a role in a project is let in."""
        known = {*self._told.get("", ()), *self._told.get(project, ())}
        if person and mark_of(person) not in known:
            await self.look()

    async def look(self) -> None:
        """Read who has a role, and tell it if that is news; what cannot be read stays as it was."""
        async with self._one_at_a_time:
            edition, self._looked_at = self._book.edition, monotonic()
            try:
                found = await asyncio.to_thread(self._book.members.read)
                marks = {where: sorted(map(mark_of, people)) for where, people in found.items()}
                if marks != self._told:
                    await self._tell(marks)
                self._told, self._edition = marks, edition
            except (ControlAway, BbopsError) as error:
                _log.warning("who may see drafts is not known anew: %s", error)

    async def _run(self) -> None:
        while True:
            is_old = monotonic() - self._looked_at > FOREIGN_SECONDS
            if is_old or self._book.edition is not self._edition:
                await self.look()
            await asyncio.sleep(LOOK_SECONDS)  # other commands write the same file: nobody tells
