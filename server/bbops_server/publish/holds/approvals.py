"""Approvals of migrations that lose data, and the migration that waits for one.

An approval is valid for one plan, once: if data is restored from a backup, it is not lost again
without another approval.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError
from bbops_server.publish.sources.values import is_full_id

if TYPE_CHECKING:
    from bbops.database.migrate.migrate import Migration
_WAITING = "migration.json"
_APPROVED = "approvals.json"
_MADE = "approvals-made.json"  # a separate file: the stamp of the other triggers a server


class Loss(msgspec.Struct, frozen=True):
    """A change that loses data; `what` is a column, or empty for the whole table."""

    change: str
    table: str
    what: str
    rows: int


class WaitingMigration(msgspec.Struct, frozen=True):
    """A migration that runs once it is approved."""

    hash: str
    losses: tuple[Loss, ...]


class MigrationApproval(msgspec.Struct, frozen=True):
    """A user's approval of losses; `rows` in it are the counts at that time."""

    hash: str
    who: str
    at: datetime
    losses: tuple[Loss, ...]


def record_waiting(state: Path, migration: Migration) -> None:
    """Record a migration that waits for approval.

    Args:
        state: the project's state folder.
        migration: a migration that is refused only for its losses.

    Raises:
        ServerError: the folder cannot be written.
    """
    losses = tuple(Loss(str(c), c.table, c.what, c.rows.count) for c in migration.losses)
    _write(state / _WAITING, WaitingMigration(migration.hash, losses))


def read_waiting(state: Path) -> WaitingMigration | None:
    """Return the last recorded migration; it may have been applied since."""
    try:
        return msgspec.json.decode((state / _WAITING).read_bytes(), type=WaitingMigration)
    except (OSError, msgspec.MsgspecError):
        return None


def approve(state: Path, name: str, *, who: str, at: datetime) -> MigrationApproval:
    """Record the approval of the waiting migration; a running server notices it.

    Args:
        state: the project's state folder.
        name: the full hash of the migration.
        who: the user who approves it.
        at: the current time, aware.

    Raises:
        ServerError: no migration or another one waits, the hash is shortened, or the folder cannot
            be written.
    """
    waiting = read_waiting(state)
    if waiting is None:
        raise ServerError("no migration waits", hint="'bbops status' says what is live")
    if not is_full_id(name, waiting.hash, "plan"):
        raise ServerError(
            f"migration '{name[:64]}' does not wait, '{waiting.hash}' does",
            hint="; ".join(loss.change for loss in waiting.losses),
        )
    approval = MigrationApproval(waiting.hash, who, at, waiting.losses)
    _write(state / _MADE, sorted(_read_made(state) - {approval.hash}))
    others = [other for other in read_approvals(state) if other.hash != approval.hash]
    _write(state / _APPROVED, [*others, approval])
    return approval


def read_approvals(state: Path) -> list[MigrationApproval]:
    """Return all approvals, oldest first; empty if the file is damaged."""
    try:
        return msgspec.json.decode((state / _APPROVED).read_bytes(), type=list[MigrationApproval])
    except (OSError, msgspec.MsgspecError):
        return []


def read_approved(state: Path) -> set[str]:
    """Return the hashes of approved migrations that have not been applied yet."""
    return {approval.hash for approval in read_approvals(state)} - _read_made(state)


def record_applied(state: Path, name: str) -> None:
    """Record that an approved migration was applied.

    Raises:
        ServerError: the folder cannot be written.
    """
    _write(state / _MADE, sorted(_read_made(state) | {name}))


def notify_server(state: Path) -> None:
    """Make a running server reconcile, without an approval.

    Raises:
        ServerError: the folder cannot be written.
    """
    _write(state / _APPROVED, read_approvals(state))


def stamp_approvals(state: Path) -> tuple[int, int, int] | None:
    """Return a stamp that changes with each approval. One `stat` call."""
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
