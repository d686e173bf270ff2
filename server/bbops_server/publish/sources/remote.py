"""A branch of a remote repository, mirrored by the build process and polled."""

from __future__ import annotations

import asyncio
import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from time import monotonic

from bbops.base.errors import BbopsError
from bbops.source.git.address import Address
from bbops.source.git.series import TAG, find_refs
from bbops_server.forges.hosted import HostedForge
from bbops_server.process.children import SupervisedChild
from bbops_server.process.host.system import SystemRandom
from bbops_server.process.messages.repositories import Fetch, FetchRef, ListRemoteBranches, PushTag
from bbops_server.publish.sources.sources import RevisionSource, describe
from bbops_server.publish.sources.values import FetchedRevision
from bbops_server.publish.status.status import Stalled

LONGEST_PAUSE_SECONDS = 300.0
_log = logging.getLogger(__name__)
Authorize = Callable[[], Awaitable[str]]
"""Returns an HTTP header such as `Authorization: Basic …`, which ends with its credential."""

FETCH_SECONDS = 3600
"""The time for one fetch, more than the limit of git itself."""


class RemoteSource:
    """Fetches the repository every `every_seconds`, less often after failures.

    Only the first fetch and a requested fetch are waited for.
    """

    poll_seconds = 0.1  # for the local state; see `every_seconds`
    is_elsewhere = True

    def __init__(
        self, address: Address, branch: str, mirror: Path, *, path: str = "",
        every_seconds: float, is_draft: bool = False, version_tag: str = "",
        authorize: Authorize | None = None,
    ) -> None:  # fmt: skip
        """Args: `authorize` returns the HTTP header for the repository; see `Authorize`."""
        self._authorize = authorize
        self.version_tag = version_tag or TAG
        self.holds_rewrites = not is_draft
        self.has_own_frontends, self.frontend_error = False, ""
        self.address, self.branch, self.mirror, self.path = address, branch, mirror, path
        self.name, self.shown = address.name, address.shown
        self.every_seconds = every_seconds
        self._commit: str | None = None
        self._newest_frontend = ""
        self._error: Stalled | None = None
        self._has_fetched = self._fetch_now = False
        self._failures, self._due = 0, 0.0
        self._fetching: asyncio.Task[None] | None = None
        self._list_due = 0.0
        self._sharing: set[asyncio.Task[None]] = set()

    async def stamp(self, build: SupervisedChild) -> object:
        """Return the last known commit and frontend; fetch if it is time."""
        fetch_now = self._fetch_now
        if fetch_now and self._fetching is not None:
            await asyncio.wait({self._fetching})  # it may have started before the push
        self._fetch_now = False  # a later `refresh` needs another fetch
        if self._fetching is None and (fetch_now or monotonic() >= self._due):
            self._fetching = asyncio.create_task(self._fetch(build))
        if self._fetching is not None and (fetch_now or not self._has_fetched):
            await asyncio.wait({self._fetching})
        if self._error is not None:
            raise self._error
        return self._commit, self._newest_frontend

    async def revision(self, build: SupervisedChild) -> FetchedRevision | None:
        """Return the last known commit."""
        del build
        if self._commit is None:
            return None
        return describe(self.mirror, self._commit, self.branch, self.path)

    def refresh(self) -> None:
        """Fetch at once, without the pause after failures."""
        self._fetch_now, self._list_due = True, 0.0

    async def branches(self, build: SupervisedChild) -> Mapping[str, str] | None:
        """List the remote branches, as often as the newest commit is fetched."""
        if monotonic() < self._list_due:
            return None
        self._list_due = monotonic() + pause_seconds(self.every_seconds, 0)
        request = ListRemoteBranches(
            self.address.url, str(self.mirror), await self.find_authorization()
        )
        return (await build.ask(request, timeout_seconds=FETCH_SECONDS)).branches

    def of_branch(self, branch: str) -> RevisionSource:
        """Return another branch of the same mirror, fetched on first use."""
        return RemoteSource(
            self.address, branch, self.mirror, path=self.path,
            every_seconds=self.every_seconds, is_draft=True, authorize=self._authorize,
        )  # fmt: skip

    async def find_authorization(self) -> str:
        """Return the HTTP header for the repository; empty for git's own configuration.

        Raises:
            BbopsError: the forge gives no credential now.
        """
        return await self._authorize() if self._authorize is not None else ""

    async def settle_tags(self) -> None:
        """Wait until the tags of `share_tag` are pushed, or rejected."""
        if self._sharing:
            await asyncio.wait(set(self._sharing))

    def share_tag(self, build: SupervisedChild, name: str) -> None:
        """Push a tag in the background; if the repository rejects it, it stays in the mirror."""
        task = asyncio.create_task(self._share(build, name))
        self._sharing.add(task)
        task.add_done_callback(self._sharing.discard)

    async def fetch_ref(self, build: SupervisedChild, ref: str) -> str:
        """Fetch the objects of a ref into the mirror, which does not keep the ref."""
        authorization = await self.find_authorization()
        request = FetchRef(self.address.url, str(self.mirror), ref, authorization)
        return (await build.ask(request, timeout_seconds=FETCH_SECONDS)).commit

    async def _share(self, build: SupervisedChild, name: str) -> None:
        try:
            authorization = await self.find_authorization()
            request = PushTag(self.address.url, str(self.mirror), name, authorization)
            await build.ask(request, timeout_seconds=FETCH_SECONDS)
        except BbopsError as error:
            _log.warning("version %s stays in the mirror: %s", name, error)

    async def _fetch(self, build: SupervisedChild) -> None:
        try:
            request = Fetch(
                self.address.url, str(self.mirror), self.branch,
                self.path if self.holds_rewrites else None, self.has_own_frontends,
                find_refs(self.version_tag, self.path) if self.holds_rewrites else (),
                await self.find_authorization(),
            )  # fmt: skip
            answer = await build.ask(request, timeout_seconds=FETCH_SECONDS)
            self._commit, self._newest_frontend = answer.commit, answer.newest
            self.frontend_error = answer.trouble
            self._error, self._failures = None, 0
        except BbopsError as error:
            self._error = Stalled("FetchFailed", error.message, error.hint, is_passing=True)
            self._failures += 1
        finally:
            self._due = monotonic() + pause_seconds(self.every_seconds, self._failures)
            self._has_fetched, self._fetching = True, None


def pause_seconds(every_seconds: float, failures: int) -> float:
    """Return the pause until the next fetch: ±10 %, doubled by each failure in a row.

    Never below `every_seconds`, else at most LONGEST_PAUSE_SECONDS, give or take the 10 %.
    """
    longest = max(every_seconds, LONGEST_PAUSE_SECONDS)
    doubled = min(every_seconds * 2.0 ** min(failures, 30), longest)
    return doubled * (SystemRandom().integer(900, 1100) / 1000)


def make_authorize(forge: HostedForge) -> Authorize:
    """Return the function that returns the header; its credential may change with each call."""

    async def authorize() -> str:
        credential = await forge.git_credential()
        pair = f"{credential.user}:{credential.password}".encode()
        return f"Authorization: Basic {b64encode(pair).decode()}"

    return authorize
