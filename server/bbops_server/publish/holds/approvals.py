"""Remember which migrations wait for somebody's word, and who gave it.

A word counts for one plan, once: also when the data comes back from a backup, so that what was
lost is not lost again unasked.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError

if TYPE_CHECKING:
    from bbops.database.migrate.migrate import Migration

_WAITING = "migration.json"
_APPROVED = "approvals.json"
_MADE = "approvals-made.json"  # a file of its own: the stamp of the other makes a server look
SHORTEST = 7
"""Digits of a hash that name a plan."""


class Loss(msgspec.Struct, frozen=True):
    """One change that loses something; `what` is a column, or empty for the whole table."""

    change: str
    table: str
    what: str
    rows: int


class Waiting(msgspec.Struct, frozen=True):
    """A plan that is made once it is approved."""

    hash: str
    losses: tuple[Loss, ...]


class Approval(msgspec.Struct, frozen=True):
    """Who agreed to which losses, and when; `rows` are those of that moment."""

    hash: str
    who: str
    at: datetime
    losses: tuple[Loss, ...]


def keep_waiting(state: Path, migration: Migration) -> None:
    """Write down a plan that waits.

    Args:
        state: the project's state folder.
        migration: one that approval alone keeps from being made.

    Raises:
        ServerError: the folder cannot be written.
    """
    losses = tuple(Loss(str(c), c.table, c.what, c.rows.count) for c in migration.losses)
    _write(state / _WAITING, Waiting(migration.hash, losses))


def read_waiting(state: Path) -> Waiting | None:
    """Return the plan that was last found to wait; it may have been made since."""
    try:
        return msgspec.json.decode((state / _WAITING).read_bytes(), type=Waiting)
    except (OSError, msgspec.MsgspecError):
        return None


def approve(state: Path, name: str, *, who: str, at: datetime) -> Approval:
    """Record that the waiting plan may be made; a running server looks again by itself.

    Args:
        state: the project's state folder.
        name: the plan's hash, or its first seven digits or more.
        who: the person that answers for it.
        at: now, aware.

    Raises:
        ServerError: another plan waits, or none does; or the folder cannot be written.
    """
    waiting = read_waiting(state)
    if waiting is None:
        raise ServerError("no migration waits", hint="'bbops status' says what is live")
    if len(name) < SHORTEST or not waiting.hash.startswith(name.lower()):
        raise ServerError(
            f"migration '{name[:64]}' does not wait, '{waiting.hash}' does",
            hint="; ".join(loss.change for loss in waiting.losses),
        )
    approval = Approval(waiting.hash, who, at, waiting.losses)
    _write(state / _MADE, sorted(_read_made(state) - {approval.hash}))
    others = [one for one in read_approvals(state) if one.hash != approval.hash]
    _write(state / _APPROVED, [*others, approval])
    return approval


def read_approvals(state: Path) -> list[Approval]:
    """Return every approval that was ever given, oldest first; none where the file is damaged."""
    try:
        return msgspec.json.decode((state / _APPROVED).read_bytes(), type=list[Approval])
    except (OSError, msgspec.MsgspecError):
        return []


def read_approved(state: Path) -> set[str]:
    """Return the hashes of the plans that may be made, and have not been."""
    return {one.hash for one in read_approvals(state)} - _read_made(state)


def close_approval(state: Path, name: str) -> None:
    """Write down that an approved plan was made.

    Raises:
        ServerError: the folder cannot be written.
    """
    _write(state / _MADE, sorted(_read_made(state) | {name}))


def look_again(state: Path) -> None:
    """Make a running server look, although no approval was given.

    Raises:
        ServerError: the folder cannot be written.
    """
    _write(state / _APPROVED, read_approvals(state))


def stamp_approvals(state: Path) -> tuple[int, int, int] | None:
    """Return what changes when an approval is given. One `stat` call."""
    try:
        status = (state / _APPROVED).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read_made(state: Path) -> set[str]:
    try:
        return msgspec.json.decode((state / _MADE).read_bytes(), type=set[str])
    except (OSError, msgspec.MsgspecError):
        return set()


def _write(path: Path, content: Any) -> None:
    try:
        replace_file(path, msgspec.json.encode(content))
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write '{path}': {reason}") from None
