"""Whether somebody has said that nothing new shall go live for now."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError
from bbops_server.publish.status.status import Stalled

_FILE = "suspended.json"

Stamp = tuple[int, int] | None


class Suspension(msgspec.Struct, frozen=True):
    """Who said so, when, and why."""

    who: str
    at: datetime
    reason: str = ""


def suspend(state: Path, suspension: Suspension) -> None:
    """Let nothing new go live until `resume`; what is live stays.

    Raises:
        ServerError: the state folder cannot be written.
    """
    try:
        replace_file(state / _FILE, msgspec.json.encode(suspension))
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot write '{state / _FILE}': {reason}") from None


def resume(state: Path) -> bool:
    """Let what is newest go live again; return whether it was suspended. Raises as `suspend`."""
    try:
        (state / _FILE).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot remove '{state / _FILE}': {reason}") from None
    return True


def read_suspension(state: Path) -> Suspension | None:
    """Return why nothing new goes live, None when it does. A damaged file suspends, too."""
    try:
        data = (state / _FILE).read_bytes()
    except OSError:
        return None
    try:
        return msgspec.json.decode(data, type=Suspension)
    except msgspec.MsgspecError:
        return Suspension("somebody", datetime.fromtimestamp(0).astimezone())


def stamp_suspension(state: Path) -> Stamp:
    """Return what changes when it is suspended or resumed. One `stat` call."""
    try:
        status = (state / _FILE).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino


def stalled_by(found: Suspension, name: str) -> Stalled:
    """Return why an attempt is not begun."""
    why = f": {found.reason}" if found.reason else ""
    return Stalled(
        "Suspended",
        f"publications are suspended by {found.who} since {found.at:%Y-%m-%d %H:%M} UTC{why}",
        f"'bbops resume{f' {name}' if name else ''}' resumes them",
    )
