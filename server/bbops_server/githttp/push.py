"""One push: what its hooks are answered, and what became of each ref."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from bbops.render import printable
from bbops_server.accounts.rules import Caller
from bbops_server.githttp.checking import Check
from bbops_server.githttp.hooks import Say, Told
from bbops_server.githttp.publishing import Waiting
from bbops_server.githttp.refs import Update, read_updates
from bbops_server.githttp.repository import Repository
from bbops_server.processes import LivingChild


class Push:
    """What somebody pushes to a repository."""

    def __init__(self, build: LivingChild, repository: Repository, caller: Caller) -> None:
        self._build, self._repository, self._caller = build, repository, caller
        self._asked: tuple[Update, ...] = ()
        self._done: tuple[Update, ...] = ()

    async def answer(self, told: Told, say: Say) -> bool:
        """Answer a hook; what it does not know is a no."""
        updates = read_updates(told.lines)
        if told.hook == "pre-receive":
            self._asked = updates
            check = Check(self._build, self._repository, told.quarantine, say)
            return await check.run(updates, self._repository.rights(self._caller))
        if told.hook == "post-receive":
            self._done = updates
            await self._publish(updates, say)
            return True
        return False

    def outcomes(self) -> Iterator[tuple[str, str]]:
        """Yield each change that was asked for, and what became of it."""
        for one in self._asked:
            yield str(one), "done" if one in self._done else "refused"

    async def _publish(self, updates: Sequence[Update], say: Say) -> None:
        waiting = []
        for one in updates:
            followers = self._repository.of_branch(one.branch)
            waiting += [Waiting(each.reconciler, one.new, say) for each in followers]
            if one.branch and one.new and not followers:
                await self._tell_previews(one.branch, say)
        await asyncio.gather(*(one.run() for one in waiting))

    async def _tell_previews(self, branch: str, say: Say) -> None:
        for drafts in self._repository.drafts:
            drafts.hurry()
            await say(f"draft '{printable(branch)}': {drafts.url_of(branch)}")
