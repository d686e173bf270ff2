"""The history of a project: list, suspend, resume and roll back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from bbops.base.errors import ServerError
from bbops.interfaces.answers import CommitStatus, Publication
from bbops.source.git.series import Version, find_version
from bbops_server.process.messages.builds import CompareCommits
from bbops_server.process.messages.repositories import (
    CheckDescent,
    MoveBranch,
    ReadVersions,
    RestoreVersion,
)
from bbops_server.process.messages.request import A, RequestMessage
from bbops_server.publish.holds.freezing import find_freeze
from bbops_server.publish.holds.held import Suspension, as_stalled, read_suspension, resume, suspend
from bbops_server.publish.sources.sources import BranchSource
from bbops_server.publish.stages.contracts import live_source
from bbops_server.publish.stages.loop import Reconciler
from bbops_server.publish.status.publications import MAX_KEPT, filter_versions, read_publications
from bbops_server.publish.status.status import now

ASK_SECONDS = 60


class ProjectVersions:
    """The history of one project."""

    def __init__(self, reconciler: Reconciler) -> None:
        self._reconciler = reconciler

    def publications(self, limit: int) -> list[Publication]:
        """Return the newest attempts, newest last."""
        return read_publications(self._reconciler.context.project.state, limit)

    def suspend(self, who: str, reason: str) -> None:
        """Suspend publications. Raises: ServerError: the state folder cannot be written."""
        suspend(self._reconciler.context.project.state, Suspension(who, now(), reason))
        self._reconciler.reconcile()

    def resume(self) -> bool:
        """Resume publications; return whether they were suspended. Raises as `suspend`."""
        was_suspended = resume(self._reconciler.context.project.state)
        if was_suspended:
            self._reconciler.reconcile()
        return was_suspended

    def exempt(self, who: str, account: str) -> str:
        """Exempt the newest revision from a freeze; return it. Raises: ServerError: none waits."""
        return self._reconciler.exempt(who, account)

    async def tags(self) -> list[dict[str, Any]]:
        """Return the versions of this project, newest first.

        Raises:
            BbopsError: the repository cannot be read.
        """
        return list(map(asdict, await self._read()))

    async def _read(self) -> Sequence[Version]:
        versions = (await self._ask(ReadVersions(self._repository))).versions
        reconciler, state = self._reconciler, self._reconciler.context.project.state
        known = await asyncio.to_thread(read_publications, state, MAX_KEPT)
        return filter_versions(versions, reconciler.context.series(reconciler.board.name), known)

    async def restore(self, version: str, only: list[str], who: str) -> dict[str, Any]:
        """Create a commit on top of the branch that restores a version, without moving the branch.

        Args:
            version: the name of a version that was live in this project.
            only: resources to restore; empty for all.
            who: the e-mail address of the user.

        Returns:
            `commit`, its `base`, its `branch`, and the `version`.

        Raises:
            BbopsError: the version does not exist, nothing would change, or the repository is
                remote.
        """
        source = self._reconciler.source
        if not isinstance(source, BranchSource):
            raise ServerError(
                f"the repository is kept elsewhere: {source.shown}",
                hint=f"'bbops rollback {version}' in a clone makes the commit; push it",
            )
        selected = find_version(await self._read(), version)
        request = RestoreVersion(
            self._repository, source.branch, source.path, selected, only, who
        )  # fmt: skip
        return msgspec.structs.asdict(await self._ask(request))

    async def compare(self, old: str, new: str) -> dict[str, Any]:
        """Return `plan`, `text` and `diff` of two versions, `old` and `new` among them.

        Raises:
            BbopsError: a version does not exist, or has errors for this version of bbops.
        """
        versions, at = await self._read(), self._reconciler.context
        first, second = find_version(versions, old), find_version(versions, new)
        source = await live_source(
            self._reconciler.source, self._reconciler.board.applied, at.plane.build
        )
        if source["kind"] != "git":
            raise ServerError("this project is served from a folder, which has no versions")
        base, head = ({**source, "commit": version.commit} for version in (first, second))
        compared = await self._ask(CompareCommits(base, head, at.engine))
        return {"old": asdict(first), "new": asdict(second)} | msgspec.structs.asdict(compared)

    async def locate(self, commit: str) -> CommitStatus:
        """Return the place of a commit in the history of the branch.

        Raises:
            BbopsError: the repository cannot be read.
        """
        board = self._reconciler.board
        is_live, live, attempted = board.serves(commit), board.applied, board.attempted
        return CommitStatus(
            commit,
            is_live,
            is_live or await self._follows(commit, live),
            await self._follows(commit, attempted),
        )

    async def _follows(self, commit: str, revision: str | None) -> bool:
        newer = (revision or "").rpartition(":")[2]
        if not newer or not self._repository or newer == commit:
            return newer == commit
        return (await self._ask(CheckDescent(self._repository, commit, newer))).descends

    async def put(self, restored: Mapping[str, str]) -> None:
        """Move the branch to a commit of `restore`, after it was checked.

        Raises:
            BbopsError: the branch has moved, or its files are checked out and have changes; also
                as `require_open`.
        """
        version = restored["version"]
        self.require_open(version)
        await self._ask(MoveBranch(
            self._repository, restored["branch"], restored["base"], restored["commit"],
            f"roll back to {version}",
        ))  # fmt: skip
        self._reconciler.poll_now()  # the loop notices a local branch on its own

    def require_open(self, version: str) -> None:
        """Require that a commit may go live now, so that none waits unnoticed.

        Raises:
            ServerError: publications are suspended or frozen.
        """
        at = self._reconciler.context
        suspension, frozen = read_suspension(at.project.state), find_freeze(at)
        name = f" {at.project.name}" if at.project.name else ""
        if suspension is not None:
            message = as_stalled(suspension, at.project.name).message
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

    async def _ask(self, request: RequestMessage[A]) -> A:
        build = self._reconciler.context.plane.build
        return await build.ask(request, timeout_seconds=ASK_SECONDS)
