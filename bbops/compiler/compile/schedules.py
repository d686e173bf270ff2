"""Compile when tasks run."""

from __future__ import annotations

from typing import Any

from bbops.language.resources.task import Task
from bbops.runtime.values.units import seconds


def compile_schedule(work: str, task: Task) -> dict[str, Any]:
    """Return when a task runs, as `bbops.runtime.work.schedules` reads it."""
    return {
        "name": work, "cron": task.schedule or "", "timezone": task.timezone,
        "every_ms": round(1000 * seconds(task.every)) if task.every else 0,
        "missed": task.missed, "overlap": task.overlap,
        "jitter_ms": round(1000 * seconds(task.jitter)) if task.jitter else 0,
    }  # fmt: skip
