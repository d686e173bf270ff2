"""The processes that a server has forked for drafts and for tests, as the system tells of them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from tests.support.served import Served

DRAFTS = "bbops_server.data_plane.draft_process.zygote"
TESTS = "bbops_server.publish.build.zygote"


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found = []
    with suppress(OSError):
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            found += map(int, path.read_text().split())
    return found


def family(pid: int) -> list[int]:
    """Return a process and all that came of it."""
    found = [pid]
    for one in children(pid):
        found += family(one)
    return found


def command(pid: int) -> str:
    """Return how a process was started; nothing of one that is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def started(served: Served, module: str) -> list[int]:
    """Return the processes of a module, without what they have forked."""
    every = family(served.process.pid)
    found = [pid for pid in every if module in command(pid)]
    return [pid for pid in found if parent(pid) not in found]


def forked(served: Served, module: str = DRAFTS) -> list[int]:
    """Return what was forked of a module and lives."""
    zygotes = started(served, module)
    return [pid for one in zygotes for pid in children(one) if stat(pid)[0] != "Z"]


def stat(pid: int) -> list[str]:
    """Return the fields of a process behind its name: proc(5)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["Z", *["0"] * 50]


def parent(pid: int) -> int:
    return int(stat(pid)[1])


def niceness(pid: int) -> int:
    return int(stat(pid)[16])


def cpu_ticks(pid: int) -> int:
    return int(stat(pid)[11]) + int(stat(pid)[12])


def memory_mib(pid: int) -> dict[str, float]:
    """Return the memory of a process by its kinds."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    told = {line.split()[0].rstrip(":"): int(line.split()[1]) for line in lines}
    return {name: size / 1024 for name, size in told.items()}


def own_mib(pid: int) -> float:
    """Return the memory that a process shares with nobody."""
    told = memory_mib(pid)
    return told["Private_Clean"] + told["Private_Dirty"]


def open_files(pid: int) -> list[str]:
    """Return what a process has open."""
    found = []
    with suppress(OSError):
        for one in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found.append(str(one.readlink()))
    return found


def environment(pid: int) -> str:
    return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
