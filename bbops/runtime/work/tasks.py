"""When the tasks of a release run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bbops.runtime.work.schedules import Schedule
from bbops.runtime.work.values import Tick, TickDue

Overlap = Literal["skip", "queue", "allow"]


@dataclass(frozen=True, slots=True)
class Task:
    """When a task runs, up to how much later, and what if the run before has not ended."""

    schedule: Schedule
    overlap: Overlap = "skip"
    jitter_ms: int = 0


class Tasks:
    """The tasks of a release, by their work."""

    def __init__(self, tasks: Mapping[str, Task]) -> None:
        self._tasks = tasks

    def first(self, now: int) -> list[Tick]:
        """Return when each of them runs next, if it has not run before."""
        return [
            Tick(work, one.schedule.after(now), repr(one.schedule))
            for work, one in self._tasks.items()
        ]

    def due(self, tick: Tick, now: int) -> TickDue:
        """Return when a task is to run now, and its next tick; nothing of one that is gone."""
        task = self._tasks.get(tick.task)
        if task is None:
            return TickDue()
        times, coming, missed = task.schedule.due(tick.at, now)
        delay = _delay_ms(tick, task.jitter_ms)
        return TickDue(times, coming, task.overlap, delay, missed)


def _delay_ms(tick: Tick, jitter_ms: int) -> int:
    """Return by how much a tick is late: the same on each server, another one the next time."""
    if not jitter_ms:
        return 0
    drawn = hashlib.sha256(f"{tick.task}@{tick.at}".encode()).digest()
    return int.from_bytes(drawn[:8]) % jitter_ms
