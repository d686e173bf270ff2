"""List the jobs of a project, and when its tasks run next."""

from __future__ import annotations

from bbops.base.json_jobs import Job, TaskTime
from bbops_server.process.messages.request import Answer, Request


class Jobs(Answer, frozen=True):
    """Jobs in the order that was asked for, how many are in each state, and the next ticks."""

    jobs: list[Job]
    counts: dict[str, int]
    tasks: list[TaskTime]


class ListJobs(Request[Jobs], frozen=True):
    """List the jobs of a project, and when its tasks run next."""

    project: str
    state: str = ""
    """Only those in this state; `ended` for those that have, which else are left out."""

    most: int = 100
