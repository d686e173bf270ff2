"""Let a session of processes stand back behind others."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def lower_priority(pid: int, nice: int, *, session: int) -> None:
    """Give a process a niceness, and its session another one.

    Linux may divide the processor by sessions first, where the niceness of a process counts within
    its own session alone. Source: sched(7), "The autogroup feature".
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, nice)
    with suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(session))
