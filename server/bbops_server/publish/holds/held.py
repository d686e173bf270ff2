"""Commits on hold, decisions about them, and suspended publications."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError
from bbops_server.accounts.rules import Permission
from bbops_server.accounts.standing import may_still
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.values import is_full_id
from bbops_server.publish.status.status import Stalled

if TYPE_CHECKING:
    pass


SHORT: Final = 12


class HeldCommit(Stalled):
    """The newest commit is published once a maintainer accepts it.

    `old` is the live commit, `new` the commit on hold. With `is_passing` a retry may succeed, too.
    """

    must_name_both = False
    """Whether a decision has to name `old`, too, because several commits are on hold."""

    def __init__(
        self, reason: str, message: str, hint: str, *, old: str, new: str,
        must_name_both: bool = False, is_passing: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(reason, message, hint, is_passing=is_passing)
        self.old, self.new, self.must_name_both = old, new, must_name_both


def accept_command(new: str, at: PublishContext, *, old: str = "") -> str:
    """Return the command that accepts a commit, or all commits between two."""
    project = f" --project {at.project.name}" if at.project.name else ""
    commits = f"--range {old}..{new}" if old else new
    return f"bbops accept {commits}{project} --server {at.plane.settings.control_url}"


def accept(
    held: Stalled | None, commit: str, at: PublishContext, *, base: str, who: str, project: str
) -> None:  # fmt: skip
    """Record that a commit on hold is accepted.

    Args:
        held: the reason why the newest commit is not live.
        commit: the full id of the commit.
        at: the context with the state folder.
        base: the full id of the live commit, to accept every commit between the two; empty for
            `commit` alone.
        who: the e-mail address of the user.
        project: the name of the project.

    Raises:
        ServerError: no commit or another one is on hold, or an id is shortened.
    """
    if not isinstance(held, HeldCommit):
        raise ServerError("no commit is on hold", hint="'bbops status' says what is live")
    if not is_full_id(commit, held.new):
        raise ServerError(
            f"commit '{commit[:64]}' is not on hold, {held.new[:SHORT]} is",
            hint=f"look at it, then '{accept_command(held.new, at)}'",
        )
    if base and not is_full_id(base, held.old):
        raise ServerError(
            f"commit '{base[:64]}' is not live, {held.old[:SHORT]} is",
            hint="review the commits in between, then"
            f" '{accept_command(held.new, at, old=held.old)}'",
        )
    if held.must_name_both and not base:
        raise ServerError(
            f"more than one commit waits: all from {held.old[:SHORT]} to {held.new[:SHORT]}",
            hint=f"review each, then '{accept_command(held.new, at, old=held.old)}'",
        )
    try:
        decision = {"old": held.old, "new": held.new, "who": who, "project": project}
        replace_file(at.accepted, msgspec.json.encode(decision))
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write '{at.accepted}': {reason}") from None


def read_accepted(at: PublishContext, old: str) -> str | None:
    """Return the commit that was accepted after `old`; blocks.

    The decision is valid for `old` only, and as long as its user may accept commits.

    Raises:
        DatabaseError: the accounts cannot be read.
    """
    try:
        decision: Any = msgspec.json.decode(at.accepted.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return None
    if decision.get("old") != old:
        return None
    who, project = decision.get("who", ""), decision.get("project", "")
    is_valid = may_still(at.plane.settings, who, Permission.ACCEPT, project)
    return decision.get("new") if is_valid else None


# ---- Suspension of publications by a user

_FILE = "suspended.json"

Stamp = tuple[int, int] | None


class Suspension(msgspec.Struct, frozen=True):
    """The user who suspended publications, with the time and the reason."""

    who: str
    at: datetime
    reason: str = ""


def suspend(state: Path, suspension: Suspension) -> None:
    """Suspend publications until `resume`; the live release keeps serving.

    Raises:
        ServerError: the state folder cannot be written.
    """
    try:
        replace_file(state / _FILE, msgspec.json.encode(suspension))
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write '{state / _FILE}': {reason}") from None


def resume(state: Path) -> bool:
    """Resume publications; return whether they were suspended. Raises as `suspend`."""
    try:
        (state / _FILE).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot remove '{state / _FILE}': {reason}") from None
    return True


def read_suspension(state: Path) -> Suspension | None:
    """Return the suspension, None without one. A damaged file counts as a suspension."""
    try:
        data = (state / _FILE).read_bytes()
    except OSError:
        return None
    try:
        return msgspec.json.decode(data, type=Suspension)
    except msgspec.MsgspecError:
        return Suspension("an unknown user", datetime.fromtimestamp(0).astimezone())


def stamp_suspension(state: Path) -> Stamp:
    """Return a stamp that changes with `suspend` and `resume`. One `stat` call."""
    try:
        status = (state / _FILE).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino


def as_stalled(suspension: Suspension, name: str) -> Stalled:
    """Return the reason why a suspended project does not publish."""
    since = f"{suspension.at:%Y-%m-%d %H:%M} UTC"
    why = f": {suspension.reason}" if suspension.reason else ""
    return Stalled(
        "Suspended",
        f"publications are suspended by {suspension.who} since {since}{why}",
        f"'bbops resume{f' {name}' if name else ''}' resumes them",
    )
