"""CPU that something takes: of this process, and of the processes of a PostgreSQL server."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from bbops.database.schema.place import Place
from tests.bench import processes
from tests.bench.yardstick import Yardstick

_TICK: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Used:
    """Seconds of CPU as of a quiet core, and of the clock."""

    own: float
    backends: float
    wall: float


class Meter:
    """Measures on one database."""

    def __init__(self, place: Place) -> None:
        self._server = None if isinstance(place, Path) else _server_of(place.url)
        self._yardstick = Yardstick()

    async def of(self, work: Callable[[], Awaitable[object]]) -> Used:
        """Do something and return what it took."""
        with self._yardstick.beside() as slowness:
            before = time.process_time(), self.backends(), time.perf_counter()
            await work()
            after = time.process_time(), self.backends(), time.perf_counter()
        own, backends, wall = (now - then for now, then in zip(after, before, strict=True))
        return Used(own / slowness.times, backends / slowness.times, wall)

    def backends(self) -> float:
        """Return the CPU of a server's processes, also of those that have ended."""
        if self._server is None:
            return 0.0
        listed = Path(f"/proc/{self._server}/task/{self._server}/children").read_text()
        living = sum(map(_nanoseconds, [self._server, *map(int, listed.split())]))
        return living / 1e9 + _of_ended(self._server)


def _nanoseconds(pid: int) -> int:
    with suppress(OSError):  # it has just ended
        return processes.cpu_nanoseconds(pid)
    return 0


def _of_ended(pid: int) -> float:
    """Return the CPU of a process's children that have ended."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, stat[13:15])) / _TICK


def _server_of(url: str) -> int:
    with psycopg.connect(url) as live:
        (pid,) = live.execute("SELECT pg_backend_pid()").fetchone() or (0,)
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(stat[1])
