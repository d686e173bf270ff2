"""The members who may open drafts: a draft's token ends with the role or account of its user.

Data processes have no accounts, so they get the marks of all members whenever these change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import Final

from bbops.base.errors import BbopsError
from bbops_server.accounts.book import Book
from bbops_server.accounts.text_rules import ControlAway
from bbops_server.data_plane.drafts.keys import Marks, mark_of

POLL_SECONDS: Final = 1.0
MAX_AGE_SECONDS: Final = 5.0
"""`bbops users` and other servers write into the accounts without notifying this process."""

_log = logging.getLogger(__name__)


class DraftMembership:
    """Publishes the members of each project to the data processes, whenever they change."""

    def __init__(
        self, book: Book, publish: Callable[[Marks], Awaitable[None]],
        notify: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        """Args: `notify`: called when a role or an account has changed."""
        self._book, self._publish, self._notify = book, publish, notify
        self._standing: object = None
        self._published: Marks = {}
        self._edition: object = None
        self._refreshed_at = 0.0
        self._refresh_lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Follow the accounts until `stop`."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop following the accounts."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def ensure_member(self, person: str, project: str) -> None:
        """Publish a user's new role in a project, if it is not published yet."""
        known = {*self._published.get("", ()), *self._published.get(project, ())}
        if person and mark_of(person) not in known:
            await self.refresh()

    async def refresh(self) -> None:
        """Read the members, and publish them if they have changed; an error keeps the old ones."""
        async with self._refresh_lock:
            edition, self._refreshed_at = self._book.edition, monotonic()
            try:
                members = await asyncio.to_thread(self._book.members.read)
                marks = {where: sorted(map(mark_of, people)) for where, people in members.items()}
                if marks != self._published:
                    await self._publish(marks)
                self._published, self._edition = marks, edition
                await self._compare_standing(members)
            except (ControlAway, BbopsError) as error:
                _log.warning("cannot update the members who may open drafts: %s", error)

    async def _compare_standing(self, members: Mapping[str, set[str]]) -> None:
        """Notify of a changed role or account: earlier decisions may not count any more."""
        standing = members, await asyncio.to_thread(self._book.members.roles_of_all)
        if self._standing not in (None, standing):
            self._book.renew_edition()  # 'bbops users' and other servers leave it as it is
            self._notify()
        self._standing = standing

    async def _run(self) -> None:
        while True:
            is_old = monotonic() - self._refreshed_at > MAX_AGE_SECONDS
            if is_old or self._book.edition is not self._edition:
                await self.refresh()
            await asyncio.sleep(POLL_SECONDS)  # other processes write the same accounts
