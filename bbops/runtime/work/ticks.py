"""What the database is told of tasks whose time has come."""

from __future__ import annotations

import json
from typing import Any, Final

from bbops.runtime.work.values import Tick, TickDue, shown_time

NEVER_MS: Final = 1 << 52
"""The next tick of a task that is gone."""


def write_runs(tick: Tick, due: TickDue) -> list[dict[str, Any]]:
    """Return the jobs that a tick makes, as the queue takes them."""
    times = due.times[-1:] if due.overlap == "skip" else due.times
    return [
        {
            "task": tick.task, "at": tick.at, "uid": f"{tick.task}@{shown_time(at)}",
            "overlap": due.overlap, "ord": number, "run_at": at + due.delay_ms,
        } for number, at in enumerate(times)
    ]  # fmt: skip


def write_coming(tick: Tick, due: TickDue) -> dict[str, Any]:
    """Return the next tick of a task."""
    return {"task": tick.task, "at": tick.at, "next_at": due.coming or NEVER_MS}


def write_missed(tick: Tick, due: TickDue) -> str:
    """Return what is said of a task that did not run: its first and last time, and how many."""
    first, last = shown_time(due.missed[0]), shown_time(due.missed[-1])
    told = {"task": tick.task, "first": first, "last": last, "count": len(due.missed)}
    return json.dumps(told)
