"""Suspension of publications by a user."""

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
