"""Whether a state folder must hold accounts already: set-up never opens a second time.

A control database that is lost, or was restored from before the first account, must not let whoever
comes first become the owner of projects and data that are there.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from bbops.base.disk import make_private, remove_file
from bbops.base.errors import DatabaseError
from bbops_server.process.host.files import CONTROL_FILE

MARK: Final = "accounts-exist"
"""An empty file in the state folder: somebody has had an account."""

FRESH: Final = "accounts-new"
"""An empty file in the state folder: a first start has not made its control database yet."""

FILE: Final = f"{CONTROL_FILE}.sqlite"
_LIVE: Final = ("publication.json", "data.sqlite")
_CURE: Final = (
    "restore 'control.sqlite' from a backup, or begin with new accounts by"
    " 'bbops users add EMAIL --role owner'; then start the server again"
)


def must_hold_accounts(state: Path, *, in_file: bool = True) -> bool:
    """Return whether set-up stays closed: accounts were there, or projects are and no database.

    To be asked before anything of a server that starts makes a file.

    Args:
        state: the server's folder.
        in_file: whether accounts are kept in it; in a schema of PostgreSQL nothing here tells
            whether there should be one.
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
    """Remember that somebody has an account."""
    with suppress(OSError):  # a full disk is told of by who needs it
        make_private(state / MARK)


def note_fresh(state: Path) -> None:
    """Remember that a first start makes the control database, after it has published projects."""
    if not _is_there(state):
        with suppress(OSError):
            make_private(state / FRESH)


def note_opened(state: Path) -> None:
    """Remember that the control database has been made: were it gone, set-up would stay closed."""
    with suppress(OSError):
        remove_file(state / FRESH)


def require_file(state: Path) -> None:
    """Refuse to make a new control database where there must be one.

    Raises:
        DatabaseError: there is none, or an empty file.
    """
    if not _is_there(state):
        raise DatabaseError(f"the control database '{state / FILE}' is gone", hint=_CURE)


def _is_there(state: Path) -> bool:
    """Return whether there is a file; an empty one is as good as none."""
    return (state / FILE).exists() and (state / FILE).stat().st_size > 0


def refuse_nobody() -> DatabaseError:
    """Return why a control database without accounts is not used."""
    return DatabaseError(
        "the control database has no accounts, although there were some", hint=_CURE
    )
