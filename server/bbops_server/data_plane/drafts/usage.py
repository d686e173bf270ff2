"""What the process of a draft uses, as the system tells it, and whether that is too much.

Where there is no /proc nothing is known of it, and the limits of the process alone hold.
"""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from bbops_server.process.forks.limits import (
    CPU_SHARE,
    CPU_WINDOW_SECONDS,
    MAX_RESPONSE_SECONDS,
    RESPONSE_CPU_SECONDS,
)

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


class Used(NamedTuple):
    """At one moment."""

    at: float
    cpu_seconds: float
    memory_bytes: int
    is_runnable: bool = False
    """Whether it computes, or would if others left it the processor."""


class Usage:
    """What one process has used over the last while."""

    def __init__(self) -> None:
        self._seen: deque[Used] = deque()
        self.is_idle = False
        """Whether it did nothing since the look before."""
        self.busy_since: float | None = None
        """Since when it has used more than its share of the processor."""
        self.silent_since: Used | None = None
        """What it had used when it was asked for a word that it has not said since."""

    def take(self, used: Used) -> None:
        """Take note of what it uses now."""
        seen = self._seen
        self.is_idle = bool(seen) and seen[-1].cpu_seconds == used.cpu_seconds
        seen.append(used)
        while len(seen) > 2 and used.at - seen[1].at >= CPU_WINDOW_SECONDS:
            seen.popleft()
        if not self._is_over():
            self.busy_since = None
        elif self.busy_since is None:
            self.busy_since = used.at

    def is_hanging(self, used: Used) -> bool:
        """Return whether a silent process hangs, or is only kept waiting by others."""
        since = self.silent_since or used
        has_computed = used.cpu_seconds - since.cpu_seconds > RESPONSE_CPU_SECONDS
        return has_computed or not used.is_runnable or used.at - since.at > MAX_RESPONSE_SECONDS

    def _is_over(self) -> bool:
        """Return whether it has used more over the whole window, or since it took a rest."""
        first, last = self._seen[0], self._seen[-1]
        if self.busy_since is not None and len(self._seen) > 1:
            before = self._seen[-2]  # it is let in again as soon as it calms down
            return _share(before, last) > CPU_SHARE / 2
        is_whole = last.at - first.at >= 0.9 * CPU_WINDOW_SECONDS
        return is_whole and _share(first, last) > CPU_SHARE


def _share(first: Used, last: Used) -> float:
    passed = last.at - first.at
    return (last.cpu_seconds - first.cpu_seconds) / passed if passed > 0 else 0.0


def read_used(pid: int) -> Used | None:
    """Return what a process uses; None where the system does not tell it."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    cpu_seconds = (int(told[11]) + int(told[12])) / _TICKS
    return Used(monotonic(), cpu_seconds, pages * _PAGE_BYTES, told[0] == "R")


def read_folder_bytes(folder: Path) -> int:
    """Return what the files of a folder take on the disk. Blocks."""
    total, left = 0, [folder]
    while left:
        try:
            for entry in os.scandir(left.pop()):
                if entry.is_dir(follow_symlinks=False):
                    left.append(Path(entry.path))
                else:
                    total += 512 * entry.stat(follow_symlinks=False).st_blocks
        except OSError:
            continue  # it is just being removed
    return total
