"""A commit that waits for somebody's decision, and that decision."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.status.status import Stalled

SHORT: Final = 12
LEAST: Final = 7
"""Digits that name a commit."""


class Held(Stalled):
    """The newest commit is served once somebody has accepted it.

    `old` is the commit that is live, `new` the one that waits.
    """

    must_name_both = False
    """Whether a decision names where it begins, too: more than one commit waits."""

    def __init__(
        self, reason: str, message: str, hint: str, *, old: str, new: str,
        must_name_both: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(reason, message, hint)
        self.old, self.new, self.must_name_both = old, new, must_name_both


def accepting(new: str, at: PublishContext, *, old: str = "") -> str:
    """Return the command that accepts a commit, or all between two."""
    project = f" --project {at.project.name}" if at.project.name else ""
    what = f"--range {old[:SHORT]}..{new[:SHORT]}" if old else new[:SHORT]
    return f"bbops accept {what}{project} --server {at.plane.settings.control_url}"


def accept(held: Stalled | None, commit: str, at: PublishContext, *, base: str = "") -> None:
    """Remember that a held commit is to be served.

    Args:
        held: why nothing newer is live.
        commit: its id, or at least seven digits of it.
        at: whose state folder remembers it.
        base: the commit that is live, where all between the two is accepted.

    Raises:
        ServerError: another commit waits for a decision, or none does.
    """
    if not isinstance(held, Held):
        raise ServerError("no commit is on hold", hint="'bbops status' says what is live")
    if not _names(commit, held.new):
        raise ServerError(
            f"commit '{commit[:64]}' is not on hold, {held.new[:SHORT]} does",
            hint=f"look at it, then '{accepting(held.new, at)}'",
        )
    if base and not _names(base, held.old):
        raise ServerError(
            f"commit '{base[:64]}' is not live, {held.old[:SHORT]} is",
            hint=f"review the commits in between, then '{accepting(held.new, at, old=held.old)}'",
        )
    if held.must_name_both and not base:
        raise ServerError(
            f"more than one commit waits: all from {held.old[:SHORT]} to {held.new[:SHORT]}",
            hint=f"review each, then '{accepting(held.new, at, old=held.old)}'",
        )
    try:
        replace_file(at.accepted, msgspec.json.encode({"old": held.old, "new": held.new}))
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write '{at.accepted}': {reason}") from None


def read_accepted(at: PublishContext, old: str) -> str | None:
    """Return the commit that was accepted in the place of `old`; a decision holds only for it."""
    try:
        found: Any = msgspec.json.decode(at.accepted.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return None
    return found.get("new") if found.get("old") == old else None


def _names(text: str, commit: str) -> bool:
    return len(text) >= LEAST and commit.startswith(text.lower())
