"""Commits that do not change a project, and branches with a rewritten history.

A project with a repository of its own publishes every commit.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from bbops.source.git.revisions import Revision
from bbops_server.process.messages.repositories import CheckDescent, ReadTrees
from bbops_server.publish.holds.held import SHORT, HeldCommit, accept_command, read_accepted
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import applied_commit
from bbops_server.publish.sources.values import BuiltRevision, FetchedRevision
from bbops_server.publish.status.status import Stalled


@dataclass(frozen=True, slots=True)
class StampedPublication:
    """A publication, and the stamps at which it was made.

    Attributes:
        source: the stamp of the source.
        local: the stamps of env values, approvals and suspensions.
        built: the identity of the build.
    """

    source: object
    local: tuple[object, ...]
    built: tuple[object, ...]

    def covers(self, other: StampedPublication) -> bool:
        """Return whether another attempt at a newer source would publish the same."""
        return self.source != other.source and self._result == other._result

    def differs_in_env(self, stamp: tuple[object, tuple[object, ...]]) -> bool:
        """Return whether env values are all that has changed since."""
        source, local = stamp
        return source == self.source and local != self.local and local[1:] == self.local[1:]

    @property
    def _result(self) -> tuple[object, ...]:
        return self.local, self.built


def stamp_publication(
    built: BuiltRevision, source: object, local: tuple[object, ...]
) -> StampedPublication:
    """Return the publication of a build at two stamps."""
    facts = built.facts
    return StampedPublication(source, local, (facts.digest, facts.frontend, facts.tagged))


async def find_own_revision(newest: FetchedRevision, at: PublishContext) -> FetchedRevision:
    """Return the live revision if the newest has the same files of the project.

    Raises:
        BbopsError: the repository cannot be read.
    """
    is_apart = bool(at.project.path) and not at.exposes_errors
    live = await asyncio.to_thread(applied_commit, at) if is_apart else None
    if live is None or live == newest.source["commit"]:
        return newest
    commits = [live, newest.source["commit"]]
    request = ReadTrees(newest.source["repository"], commits, folder=at.project.path)
    trees = (await at.plane.build.ask(request, timeout_seconds=COMPARE_SECONDS)).trees
    if live not in trees or trees[live] != trees.get(newest.source["commit"]):
        return newest
    return FetchedRevision(
        str(Revision(at.project.branch, live)), {**newest.source, "commit": live}
    )


# ---- Hold a branch whose history was rewritten until a maintainer decides
# A shared branch only grows; a forced push may be a mistake or an attack. The live release stays
# live until a command accepts the new history.

COMPARE_SECONDS = 60


async def hold_rewritten(fetched: FetchedRevision, at: PublishContext) -> FetchedRevision:
    """Hold a commit that does not descend from the live one, unless it was accepted.

    Raises:
        Held: a maintainer has to decide.
    """
    if not at.source.holds_rewrites:
        return fetched
    old, new = applied_commit(at), fetched.source["commit"]
    if old is None or await _follows(old, new, fetched, at):
        return fetched
    accepted = await asyncio.to_thread(read_accepted, at, old)
    if accepted is None or not await _follows(accepted, new, fetched, at):
        raise _rewritten(old, new, at)
    return fetched


def missing_branch(at: PublishContext, applied: str | None) -> Stalled:
    """Return the reason for a branch that was deleted, or never existed."""
    branch, shown = at.project.branch, at.source.shown
    other = "another 'branch' in the server's file" if at.project.name else "another with --branch"
    if applied is None:
        return Stalled(
            "BranchNotFound", f"the repository has no branch '{branch}' with a commit",
            f"commit something, or name {other}",
        )  # fmt: skip
    commit = applied.rpartition(":")[2][:SHORT]
    return Stalled(
        "BranchNotFound", f"branch '{branch}' of {shown} is gone; commit {commit} is live",
        f"'git push REMOTE {commit}:refs/heads/{branch}' brings it back;"
        f" or name {other}",
    )  # fmt: skip


def _rewritten(old: str, new: str, at: PublishContext) -> HeldCommit:
    return HeldCommit(
        "HistoryRewritten",
        f"branch '{at.project.branch}' was rewritten: its newest commit {new[:SHORT]}"
        f" does not follow {old[:SHORT]}, which is live",
        f"'{accept_command(new, at)}' serves it; or push {old[:SHORT]} back",
        old=old, new=new,
    )  # fmt: skip


async def _follows(old: str, new: str, fetched: FetchedRevision, at: PublishContext) -> bool:
    if old == new:
        return True
    request = CheckDescent(fetched.source["repository"], old, new)
    return (await at.build.ask(request, timeout_seconds=COMPARE_SECONDS)).descends
