"""Take a server's place in a state folder: a free one, or that of the server that runs."""

from __future__ import annotations

import logging
import socket
import time
from pathlib import Path
from typing import Final

from bbops.base.errors import ServerError
from bbops_server.commands._projects import hold_state, lock_state, read_holder
from bbops_server.process.handover import place
from bbops_server.process.handover.peer import end_process, has_open
from bbops_server.process.handover.seat import StateSeat
from bbops_server.process.handover.taking import NoPredecessor, Predecessor, UnresponsivePredecessor

HELD: Final = (
    "stop it (process {process}), or take its place with 'bbops serve --replace',"
    " or give this one its own with --state DIR"
)
"""What to do when another server uses a state folder."""

_FREE_SECONDS: Final = 10.0
_GONE_SECONDS: Final = 1.0
"""How long the lock of a server that was killed may outlive its socket."""

_LEFT_SECONDS: Final = 3.0
"""How long the processes of a server that has died may keep its ports."""

_LOOK_SECONDS: Final = 0.05
_log = logging.getLogger(__name__)


def take_seat(state: Path, *, replaces: bool = False, hands_over: bool = True) -> StateSeat:
    """Return a server's place in a state folder.

    Args:
        state: must exist.
        replaces: whether the place of a server that runs is taken; it goes on until this one is
            ready. One that does not answer is killed.
        hands_over: whether this one can be replaced in the same way.

    Raises:
        ServerError: another process has it, and does not hand it over.
    """
    lock = lock_state(state) if replaces else hold_state(state, cure=HELD)
    patience = _LEFT_SECONDS if replaces else 0.0
    if lock is None:
        try:
            before = Predecessor.meet(state)
        except UnresponsivePredecessor as silent:
            lock, patience = _end_holder(state, silent), _FREE_SECONDS
        except NoPredecessor:
            lock = _wait_for_lock(state, _GONE_SECONDS)
            if lock is None:  # it was not killed a moment ago
                raise
        else:
            return StateSeat(state, before.lock, before.listening, before)
    return StateSeat(state, lock, _listen(state) if hands_over else None, patience_seconds=patience)


def _end_holder(state: Path, silent: UnresponsivePredecessor) -> int:
    """Kill a server that does not answer; return its lock."""
    holder = read_holder(state)
    if not has_open(holder, state / "lock"):
        raise ServerError(
            f"{silent}; its process is not visible here; it may run in another container",
            hint="stop it where it runs, then start this one",
        ) from None
    _log.error("%s: process %d is killed", silent, holder)
    end_process(holder)
    if (lock := _wait_for_lock(state, _FREE_SECONDS)) is None:
        raise ServerError(
            f"what uses the state folder '{state}' neither answers nor exits",
            hint=f"end process {holder or '?'}, then start this one",
        ) from None
    return lock


def _listen(state: Path) -> socket.socket | None:
    try:
        return place.listen(state)
    except OSError as error:
        reason = error.strerror or "no reason given"
        _log.warning("this server cannot be replaced while it runs: '%s': %s", state, reason)
        return None


def _wait_for_lock(state: Path, seconds: float) -> int | None:
    until = time.monotonic() + seconds
    while (lock := lock_state(state)) is None and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)  # another process holds the lock: nobody tells
    return lock
