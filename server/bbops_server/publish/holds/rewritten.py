"""Hold a branch whose history was rewritten until a maintainer decides.

A shared branch only grows; a forced push may be a mistake or an attack. The live release stays live
until a command accepts the new history.
"""

from __future__ import annotations

import asyncio

from bbops_server.process.messages.repositories import CheckDescent
from bbops_server.publish.holds.held import SHORT, HeldCommit, accept_command, read_accepted
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import applied_commit
from bbops_server.publish.sources.values import FetchedRevision
from bbops_server.publish.status.status import Stalled

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
