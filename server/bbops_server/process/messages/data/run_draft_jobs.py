"""Let the jobs and tasks of a draft run by themselves for a while."""

from __future__ import annotations

from bbops_server.process.messages.request import Answer, Request


class RunningJobs(Answer, frozen=True):
    """How many jobs were held, and run now."""

    released: int


class RunDraftJobs(Request[RunningJobs], frozen=True):
    """Let them run for so long, or until the draft sleeps; 0 ends that."""

    seconds: float
