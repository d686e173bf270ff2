"""Take a server's place in a state folder: a free one, or that of the server that runs."""

from __future__ import annotations

import logging
import socket
import time
from pathlib import Path
from typing import Final

from bbops.errors import ServerError
from bbops_server.commands._projects import hold_state, lock_state, read_holder
from bbops_server.handover import place
from bbops_server.handover.peer import end_process
from bbops_server.handover.seat import Seat
from bbops_server.handover.taking import Predecessor, Silent

HELD: Final = (
    "stop it (process {process}), or take its place with 'bbops serve --replace',"
    " or give this one its own with --state DIR"
)
"""What to do when another server uses a state folder."""

_FREE_SECONDS: Final = 10.0
_LEFT_SECONDS: Final = 3.0
"""How long the processes of a server that has died may keep its ports."""

_LOOK_SECONDS: Final = 0.05
_log = logging.getLogger(__name__)


def take_seat(state: Path, *, replaces: bool = False, hands_over: bool = True) -> Seat:
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
    if lock is not None:
        patience = _LEFT_SECONDS if replaces else 0.0
        return Seat(state, lock, _listen(state) if hands_over else None, patience_seconds=patience)
    try:
        before = Predecessor.meet(state)
    except Silent as silent:
        holder = read_holder(state)
        _log.error("%s: process %d is killed", silent, holder)
        end_process(holder)
        return Seat(state, _wait_for_lock(state), _listen(state), patience_seconds=_FREE_SECONDS)
    return Seat(state, before.lock, before.listening, before)


def _listen(state: Path) -> socket.socket | None:
    try:
        return place.listen(state)
    except OSError as error:
        reason = error.strerror or "no reason given"
        _log.warning("this server cannot be replaced while it runs: '%s': %s", state, reason)
        return None


def _wait_for_lock(state: Path) -> int:
    until = time.monotonic() + _FREE_SECONDS
    while (lock := lock_state(state)) is None:
        if time.monotonic() > until:
            raise ServerError(
                f"what uses the state folder '{state}' neither answers nor ends",
                hint=f"end process {read_holder(state) or '?'}, then start this one",
            )
        time.sleep(_LOOK_SECONDS)
    return lock
