"""How much memory a process has."""

from __future__ import annotations

import os
from pathlib import Path


def memory_bytes(pid: int) -> int:
    """Return the resident memory of a process, 0 where the system does not tell it so."""
    try:
        told = Path(f"/proc/{pid}/statm").read_bytes()
    except OSError:
        return 0
    return int(told.split()[1]) * os.sysconf("SC_PAGE_SIZE")
