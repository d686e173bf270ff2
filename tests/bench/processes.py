"""What the kernel says of a process: its CPU time, its memory, its children; and on which core."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def cpu_nanoseconds(pid: int) -> int:
    """Return the CPU time of all threads that live now."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # it has just ended
            total += int((thread / "schedstat").read_text().split()[0])
    return total


def family_nanoseconds(pid: int) -> int:
    """Return the CPU time of a process and its descendants, with those that have ended."""
    ticks = os.sysconf("SC_CLK_TCK")
    total = 0
    with suppress(OSError):  # it has just ended
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ended = int(fields[13]) + int(fields[14])  # cutime, cstime of proc(5), from field 3
        total = cpu_nanoseconds(pid) + ended * 1_000_000_000 // ticks
        for listed in Path(f"/proc/{pid}/task").glob("*/children"):
            total += sum(family_nanoseconds(int(child)) for child in listed.read_text().split())
    return total


def resident_megabytes(pid: int) -> float:
    """Return the memory that is the process's now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = [one for one in lines if one.startswith("VmRSS:")]
    return int(line.split()[1]) / 1024


def child_running(pid: int, module: str) -> int:
    """Return the id of the child that runs `python -m module`."""
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in listed.read_text().split():
            if module in Path(f"/proc/{child}/cmdline").read_text().split("\0"):
                return int(child)
    raise LookupError(f"process {pid} has no child that runs '{module}'")


def cores() -> tuple[set[int], set[int]]:
    """Return the cores of servers and of load generators; the same where there is only one."""
    found = sorted(os.sched_getaffinity(0))
    return {found[0]}, {found[-1]}


@contextmanager
def pinned(to: set[int]) -> Iterator[None]:
    """Start processes on these cores only; afterwards this one runs where it did."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, to)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
