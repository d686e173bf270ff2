"""Marks in the state folder that keep the set-up closed once there were accounts.

Without them, the first visitor after the loss of the control database could become the owner of
its projects and data.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from bbops.base.disk import make_private, remove_file
from bbops.base.errors import DatabaseError
from bbops_server.process.host.files import CONTROL_FILE

MARK: Final = "accounts-exist"
"""An empty file in the state folder: there were accounts."""

FRESH: Final = "accounts-new"
"""An empty file in the state folder: a first start has not created its control database yet."""

FILE: Final = f"{CONTROL_FILE}.sqlite"
_LIVE: Final = ("publication.json", "data.sqlite")
_CURE: Final = (
    "restore 'control.sqlite' from a backup, or begin with new accounts by"
    " 'bbops users add EMAIL --role owner'; then start the server again"
)


def must_hold_accounts(state: Path, *, in_file: bool = True) -> bool:
    """Return whether the set-up stays closed: there were accounts, or projects without a database.

    Call it before a starting server creates files.

    Args:
        state: the server's folder.
        in_file: whether accounts are in a file of the folder; for a schema of PostgreSQL, the
            folder does not show whether it should exist.
    """
    if (state / MARK).exists():
        return True
    return (
        in_file
        and not (state / FRESH).exists()
        and not _is_there(state)
        and any(
            (folder / name).exists()
            for folder in (state, *(state / "projects").glob("*"))
            for name in _LIVE
        )
    )


def note_accounts(state: Path) -> None:
    """Mark that there are accounts."""
    with suppress(OSError):  # a full disk is reported by later writes
        make_private(state / MARK)


def note_fresh(state: Path) -> None:
    """Mark a first start, which publishes projects before it creates the control database."""
    if not _is_there(state):
        with suppress(OSError):
            make_private(state / FRESH)


def note_opened(state: Path) -> None:
    """Mark that the control database was created: if it is lost, the set-up stays closed."""
    with suppress(OSError):
        remove_file(state / FRESH)


def require_file(state: Path) -> None:
    """Refuse to create a control database if there must be one already.

    Raises:
        DatabaseError: there is none, or an empty file.
    """
    if not _is_there(state):
        raise DatabaseError(f"the control database '{state / FILE}' is gone", hint=_CURE)


def _is_there(state: Path) -> bool:
    """Return whether there is a file that is not empty."""
    return (state / FILE).exists() and (state / FILE).stat().st_size > 0


def refuse_nobody() -> DatabaseError:
    """Return the error for a control database that has lost its accounts."""
    return DatabaseError(
        "the control database has no accounts, although there were some", hint=_CURE
    )
