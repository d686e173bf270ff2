"""Count the jobs of a project by what they run."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class JobCounts(Answer, frozen=True):
    """Jobs that have begun, and jobs that wait, by the name of their trigger, task or function."""

    counts: dict[str, tuple[int, int]]


class CountJobs(Request[JobCounts], frozen=True):
    """Count the jobs of a project by what they run."""

    project: str
