"""The memory of a process."""

from __future__ import annotations

import os
from pathlib import Path


def memory_bytes(pid: int) -> int:
    """Return the resident memory of a process; 0 if the system does not report it."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_bytes()
    except OSError:
        return 0
    return int(pages.split()[1]) * os.sysconf("SC_PAGE_SIZE")
