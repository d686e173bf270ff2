"""The system under a process: clock, random values, memory, threads, niceness."""

from __future__ import annotations

import os
import secrets
import string
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import uuid4


class SystemClock:
    """Implements `bbops.base.host.Clock`."""

    __slots__ = ()

    def now(self) -> datetime:
        """Return the aware UTC time, to the microsecond."""
        return datetime.now(UTC)  # noqa: TID251 - the implementation of the clock


_CHARACTERS = string.ascii_lowercase + string.digits


class SystemRandom:
    """Implements `bbops.base.host.Random`."""

    __slots__ = ()

    def uuid(self) -> str:
        """Return a new UUID (version 4) in lower case."""
        return str(uuid4())

    def token(self, length: int) -> str:
        """Return `length` characters of a-z and 0-9, with 5.17 bits each."""
        return "".join([secrets.choice(_CHARACTERS) for _ in range(length)])

    def integer(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, inclusive."""
        return low + secrets.randbelow(high - low + 1)


SWITCH_SECONDS: Final = 0.0005
"""The switch interval of the interpreter.

A thread that writes holds the gate of a SQLite file, for which every process waits. It needs the
interpreter after each statement and each row. While the event loop computes, the thread waits for
a switch interval, by default 5 ms: 50 ms for a commit. docs/decisions/0100 has the figures.
"""


def share_interpreter() -> None:
    """Set the switch interval, so that threads get the interpreter sooner from the event loop."""
    sys.setswitchinterval(SWITCH_SECONDS)


def memory_bytes(pid: int) -> int:
    """Return the resident memory of a process; 0 if the system does not report it."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_bytes()
    except OSError:
        return 0
    return int(pages.split()[1]) * os.sysconf("SC_PAGE_SIZE")


def lower_priority(pid: int, nice: int, *, session: int) -> None:
    """Set the niceness of a process and of its session.

    Linux may divide CPU time between sessions first; then the niceness of a process applies only
    within its session. Source: sched(7), "The autogroup feature".
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, nice)
    with suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(session))
