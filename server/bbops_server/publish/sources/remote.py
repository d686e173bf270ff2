"""A branch of a repository elsewhere, mirrored by the build process and looked at now and then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from time import monotonic

from bbops.base.errors import BbopsError
from bbops.source.git.address import Address
from bbops.source.git.series import TAG, find_refs
from bbops_server.process.children import SupervisedChild
from bbops_server.process.host.random import SystemRandom
from bbops_server.process.messages.repositories import Fetch, ListRemoteBranches, PushTag
from bbops_server.publish.sources.sources import Source, describe
from bbops_server.publish.sources.values import Fetched
from bbops_server.publish.status.status import Stalled

LONGEST_PAUSE_SECONDS = 300.0
_log = logging.getLogger(__name__)
FETCH_SECONDS = 3600
"""More than git itself is given for one look."""


class RemoteSource:
    """Asks the repository every `every_seconds`, less often while that fails.

    Nothing here waits for a network but the first look, and one that was asked for.
    """

    poll_seconds = 0.1  # of what is known here; see `every_seconds`
    is_elsewhere = True

    def __init__(
        self, address: Address, branch: str, mirror: Path, *, path: str = "",
        every_seconds: float, is_draft: bool = False, version_tag: str = "",
    ) -> None:  # fmt: skip
        self.version_tag = version_tag or TAG
        self.holds_rewrites = not is_draft
        self.has_own_frontends, self.frontend_trouble = False, ""
        self.address, self.branch, self.mirror, self.path = address, branch, mirror, path
        self.name, self.shown = address.name, address.shown
        self.every_seconds = every_seconds
        self._commit: str | None = None
        self._newest_frontend = ""
        self._trouble: Stalled | None = None
        self._has_looked = self._is_hurried = False
        self._failures, self._due = 0, 0.0
        self._looking: asyncio.Task[None] | None = None
        self._list_due = 0.0
        self._sharing: set[asyncio.Task[None]] = set()

    async def stamp(self, build: SupervisedChild) -> object:
        """Return the newest commit and frontend that are known; look when it is time."""
        is_hurried = self._is_hurried
        if is_hurried and self._looking is not None:
            await asyncio.wait({self._looking})  # it may have asked before the push
        self._is_hurried = False  # a `refresh` from here on may be later than this look
        if self._looking is None and (is_hurried or monotonic() >= self._due):
            self._looking = asyncio.create_task(self._look(build))
        if self._looking is not None and (is_hurried or not self._has_looked):
            await asyncio.wait({self._looking})
        if self._trouble is not None:
            raise self._trouble
        return self._commit, self._newest_frontend

    async def revision(self, build: SupervisedChild) -> Fetched | None:
        """Return the newest commit that is known."""
        del build
        if self._commit is None:
            return None
        return describe(self.mirror, self._commit, self.branch, self.path)

    def refresh(self) -> None:
        """Look at once, however long it was to wait after failures."""
        self._is_hurried, self._list_due = True, 0.0

    async def branches(self, build: SupervisedChild) -> Mapping[str, str] | None:
        """Ask the repository, as often as for the newest commit."""
        if monotonic() < self._list_due:
            return None
        self._list_due = monotonic() + pause_seconds(self.every_seconds, 0)
        asked = ListRemoteBranches(self.address.url, str(self.mirror))
        return (await build.ask(asked, timeout_seconds=FETCH_SECONDS)).branches

    def of_branch(self, branch: str) -> Source:
        """Return the same mirror's other branch, fetched once it is asked for."""
        return RemoteSource(
            self.address, branch, self.mirror, path=self.path,
            every_seconds=self.every_seconds, is_draft=True,
        )  # fmt: skip

    def share_tag(self, build: SupervisedChild, name: str) -> None:
        """Push a tag in the background; a repository that takes none leaves it in the mirror."""
        task = asyncio.create_task(self._share(build, name))
        self._sharing.add(task)
        task.add_done_callback(self._sharing.discard)

    async def _share(self, build: SupervisedChild, name: str) -> None:
        try:
            asked = PushTag(self.address.url, str(self.mirror), name)
            await build.ask(asked, timeout_seconds=FETCH_SECONDS)
        except BbopsError as error:
            _log.warning("version %s stays in the mirror: %s", name, error)

    async def _look(self, build: SupervisedChild) -> None:
        asked = Fetch(
            self.address.url, str(self.mirror), self.branch,
            self.path if self.holds_rewrites else None, self.has_own_frontends,
            find_refs(self.version_tag, self.path) if self.holds_rewrites else (),
        )  # fmt: skip
        try:
            found = await build.ask(asked, timeout_seconds=FETCH_SECONDS)
            self._commit, self._newest_frontend = found.commit, found.newest
            self.frontend_trouble = found.trouble
            self._trouble, self._failures = None, 0
        except BbopsError as error:
            self._trouble = Stalled("FetchFailed", error.message, error.hint, is_passing=True)
            self._failures += 1
        finally:
            self._due = monotonic() + pause_seconds(self.every_seconds, self._failures)
            self._has_looked, self._looking = True, None


def pause_seconds(every_seconds: float, failures: int) -> float:
    """Return how long to wait until the next look: ±10 %, doubled by each failure in a row.

    Never below `every_seconds`, else at most LONGEST_PAUSE_SECONDS, give or take the 10 %.
    """
    longest = max(every_seconds, LONGEST_PAUSE_SECONDS)
    doubled = min(every_seconds * 2.0 ** min(failures, 30), longest)
    return doubled * (SystemRandom().integer(900, 1100) / 1000)
