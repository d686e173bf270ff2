"""Hold, release, start, retry or cancel jobs, or run a task now."""

from __future__ import annotations

from typing import Literal

from bbops_server.process.messages.request import Answer, Request

Action = Literal["hold", "release", "start", "retry", "cancel", "run"]


class Changed(Answer, frozen=True):
    """How many jobs were changed.

    Attributes:
        job: the new job of a task, or the replacement of a job that stays dead.
    """

    count: int
    job: str = ""


class ChangeJobs(Request[Changed], frozen=True):
    """Hold, release, start, retry or cancel jobs, or run a task now."""

    project: str
    action: Action
    job: str = ""
    """The job, or the task that is to run; empty for all, where that is possible."""

    restored: bool = False
    """Release those only that a restore has held."""

    from_start: bool = False
    """Forget what the job has done, and do it again."""
