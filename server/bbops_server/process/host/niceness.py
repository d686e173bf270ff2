"""The niceness of processes and sessions."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def lower_priority(pid: int, nice: int, *, session: int) -> None:
    """Set the niceness of a process and of its session.

    Linux may divide CPU time between sessions first; then the niceness of a process applies only
    within its session. Source: sched(7), "The autogroup feature".
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, nice)
    with suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(session))
