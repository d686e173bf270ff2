"""What people do to the history of a project: list it, stop it for a while, go back in it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from bbops.base.errors import ServerError
from bbops.interfaces.answers import Publication
from bbops.source.git.series import Version, find_version
from bbops_server.process.messages.repositories import MoveBranch, ReadVersions, RestoreVersion
from bbops_server.process.messages.request import A, RequestMessage
from bbops_server.publish.holds.freezing import find_freeze
from bbops_server.publish.holds.suspension import (
    Suspension,
    read_suspension,
    resume,
    stalled_by,
    suspend,
)
from bbops_server.publish.sources.sources import BranchSource
from bbops_server.publish.stages.loop import Reconciler
from bbops_server.publish.status.own_versions import find_own
from bbops_server.publish.status.publications import MOST_KEPT, read_publications
from bbops_server.publish.status.status import now

ASK_SECONDS = 60


class Versions:
    """The history of one project."""

    def __init__(self, reconciler: Reconciler) -> None:
        self._reconciler = reconciler

    def publications(self, limit: int) -> list[Publication]:
        """Return the newest attempts, the newest last."""
        return read_publications(self._reconciler.context.project.state, limit)

    def suspend(self, who: str, reason: str) -> None:
        """Let nothing new go live. Raises: ServerError: the state folder takes nothing."""
        suspend(self._reconciler.context.project.state, Suspension(who, now(), reason))
        self._reconciler.reconcile()

    def resume(self) -> bool:
        """Let what is newest go live; return whether that was suspended. Raises as `suspend`."""
        was_suspended = resume(self._reconciler.context.project.state)
        if was_suspended:
            self._reconciler.reconcile()
        return was_suspended

    def exempt(self, who: str) -> str:
        """Let the newest revision through a freeze; return it. Raises: ServerError: none waits."""
        return self._reconciler.exempt(who)

    async def tags(self) -> list[dict[str, Any]]:
        """Return the versions of this project, newest first.

        Raises:
            BbopsError: the repository cannot be read.
        """
        return list(map(asdict, await self._read()))

    async def _read(self) -> Sequence[Version]:
        found = (await self._ask(ReadVersions(self._repository))).versions
        one, state = self._reconciler, self._reconciler.context.project.state
        known = await asyncio.to_thread(read_publications, state, MOST_KEPT)
        return find_own(found, one.context.series(one.board.name), known)

    async def restore(self, version: str, only: list[str], who: str) -> dict[str, Any]:
        """Make a commit on top of the branch that restores a version; no branch holds it yet.

        Args:
            version: its name, which was live in this project.
            only: resources; all without any.
            who: the e-mail address of whoever asks.

        Returns:
            `commit`, its `base`, the `branch` it is for, and the `version`.

        Raises:
            BbopsError: there is no such version, nothing would change, or the repository is not
                here.
        """
        source = self._reconciler.source
        if not isinstance(source, BranchSource):
            raise ServerError(
                f"the repository is kept elsewhere: {source.shown}",
                hint=f"'bbops rollback {version}' in a clone makes the commit; push it",
            )
        wanted = find_version(await self._read(), version)
        asked = RestoreVersion(
            self._repository, source.branch, source.path, wanted, only, who
        )  # fmt: skip
        return msgspec.structs.asdict(await self._ask(asked))

    async def put(self, restored: Mapping[str, str]) -> None:
        """Let the branch hold what `restore` has made, as somebody has checked that it may.

        Raises:
            BbopsError: the branch has moved since, or its files are checked out and have changes;
                also as `require_open`.
        """
        version = restored["version"]
        self.require_open(version)
        await self._ask(MoveBranch(
            self._repository, restored["branch"], restored["base"], restored["commit"],
            f"roll back to {version}",
        ))  # fmt: skip
        self._reconciler.look()  # the loop sees a branch here move by itself

    def require_open(self, version: str) -> None:
        """Demand that something may go live now, so that no commit stays that nobody sees live.

        Raises:
            ServerError: publications are suspended or frozen.
        """
        at = self._reconciler.context
        suspension, frozen = read_suspension(at.project.state), find_freeze(at)
        name = f" {at.project.name}" if at.project.name else ""
        if suspension is not None:
            message = stalled_by(suspension, at.project.name).message
            hint = f"nothing has changed; 'bbops resume{name}' first, then roll back"
            raise ServerError(message, hint=hint)
        if frozen is not None:
            raise ServerError(
                f"publications are frozen until {frozen.until:%Y-%m-%d %H:%M} UTC",
                hint=f"nothing has changed; 'bbops rollback {version}' makes the commit in a clone:"
                f" push it, and 'bbops resume{name} --despite-freeze' accepts it",
            )

    @property
    def _repository(self) -> str:
        source = self._reconciler.source
        return str(getattr(source, "repository", getattr(source, "mirror", "")))

    async def _ask(self, asked: RequestMessage[A]) -> A:
        build = self._reconciler.context.plane.build
        return await build.ask(asked, timeout_seconds=ASK_SECONDS)
