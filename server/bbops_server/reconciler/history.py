"""Hold a branch whose history was rewritten until somebody decides.

A branch that others push to only ever grows; a forced push may be a mistake, or somebody else. What
is live stays live, and one command says that the new history is meant.
"""

from __future__ import annotations

from typing import Any

import msgspec

from bbops.disk import replace_file
from bbops.errors import ServerError
from bbops_server.reconciler.attempt import Attempt, Workshop
from bbops_server.reconciler.record import applied_commit
from bbops_server.reconciler.status import Stalled

COMPARE_SECONDS = 60
_SHORT = 12


class Rewritten(Stalled):
    """The newest commit does not descend from the live one."""

    def __init__(self, old: str, new: str, at: Workshop) -> None:
        project = f" --project {at.project.name}" if at.project.name else ""
        server = at.plane.settings.control_url
        super().__init__(
            "HistoryRewritten",
            f"branch '{at.project.branch}' was rewritten: its newest commit {new[:_SHORT]}"
            f" does not follow {old[:_SHORT]}, which is live",
            f"'bbops accept {new[:_SHORT]}{project} --server {server}' serves it;"
            f" or push {old[:_SHORT]} back",
        )
        self.old, self.new = old, new


async def keep_history(attempt: Attempt, at: Workshop) -> None:
    """Refuse a commit that does not follow the live one, unless it was accepted."""
    if not at.source.holds_rewrites:
        return
    old, new = applied_commit(at), attempt.source["commit"]
    if old is None or await _follows(old, new, attempt, at):
        return
    accepted = read_accepted(at, old)
    if accepted is None or not await _follows(accepted, new, attempt, at):
        raise Rewritten(old, new, at)


def missing_branch(at: Workshop, applied: str | None) -> Stalled:
    """Return why nothing can be attempted: there is no such branch, or no longer."""
    branch, shown = at.project.branch, at.source.shown
    other = "another 'branch' in the server's file" if at.project.name else "another with --branch"
    if applied is None:
        return Stalled(
            "BranchNotFound", f"the repository has no branch '{branch}' with a commit",
            f"commit something, or name {other}",
        )  # fmt: skip
    commit = applied.rpartition(":")[2][:_SHORT]
    return Stalled(
        "BranchNotFound", f"branch '{branch}' of {shown} is gone; commit {commit} is live",
        f"'git push REMOTE {commit}:refs/heads/{branch}' brings it back;"
        f" or name {other}",
    )  # fmt: skip


def accept(held: Stalled | None, commit: str, at: Workshop) -> None:
    """Remember that a held commit, and what follows it, is to be served.

    Args:
        held: why nothing newer is live.
        commit: its id, or at least seven digits of it.
        at: whose state folder remembers it.

    Raises:
        ServerError: another commit waits for a decision, or none does.
    """
    if not isinstance(held, Rewritten):
        raise ServerError("no commit waits for a decision", hint="'bbops status' says what is live")
    if len(commit) < 7 or not held.new.startswith(commit.lower()):
        raise ServerError(
            f"commit '{commit[:64]}' does not wait for a decision, {held.new[:_SHORT]} does",
            hint=f"look at it, then 'bbops accept {held.new[:_SHORT]}'",
        )
    try:
        replace_file(at.accepted, msgspec.json.encode({"old": held.old, "new": held.new}))
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write '{at.accepted}': {reason}") from None


def read_accepted(at: Workshop, old: str) -> str | None:
    """Return the commit that was accepted in the place of `old`; a decision holds only for it."""
    try:
        found: Any = msgspec.json.decode(at.accepted.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return None
    return found.get("new") if found.get("old") == old else None


async def _follows(old: str, new: str, attempt: Attempt, at: Workshop) -> bool:
    if old == new:
        return True
    asked = {
        "do": "descends", "repository": attempt.source["repository"], "old": old, "new": new,
    }  # fmt: skip
    answer = await at.plane.build.ask(asked, timeout_seconds=COMPARE_SECONDS)
    return bool(answer["descends"])
