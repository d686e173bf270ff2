"""Jobs and tasks of a project."""

from __future__ import annotations

from typing import Literal

from bbops.base.json_work import Job, JobStory, TaskTicks, TaskTime
from bbops_server.process.messages.request import AnswerMessage, RequestMessage


class ListJobsAnswer(AnswerMessage, frozen=True):
    """Jobs in the requested order, their number by state, and the next ticks."""

    jobs: list[Job]
    counts: dict[str, int]
    tasks: list[TaskTime]


class ListJobs(RequestMessage[ListJobsAnswer], frozen=True):
    """List jobs and next ticks."""

    project: str
    state: str = ""
    """A state to filter by; `ended` jobs are listed only on request."""

    most: int = 100


class ListTicksAnswer(AnswerMessage, frozen=True):
    """The next ticks of each task, by task name."""

    tasks: list[TaskTicks]


class ListTicks(RequestMessage[ListTicksAnswer], frozen=True):
    """List the next ticks of tasks."""

    project: str
    task: str
    """A task such as `tasks/nightly`; empty for all tasks."""

    count: int


class ShowJobAnswer(AnswerMessage, frozen=True):
    """A job's history; None if the job does not exist."""

    story: JobStory | None


class ShowJob(RequestMessage[ShowJobAnswer], frozen=True):
    """Show a job's history."""

    project: str
    job: str


class JobCounts(AnswerMessage, frozen=True):
    """The numbers of started and waiting jobs, by trigger, task or function."""

    counts: dict[str, tuple[int, int]]


class CountJobs(RequestMessage[JobCounts], frozen=True):
    """Count jobs by trigger, task or function."""

    project: str


Action = Literal["hold", "release", "start", "retry", "cancel", "run"]


class ChangeJobsAnswer(AnswerMessage, frozen=True):
    """The number of changed jobs.

    Attributes:
        job: a task's new job, or the replacement of a dead job.
    """

    count: int
    job: str = ""


class ChangeJobs(RequestMessage[ChangeJobsAnswer], frozen=True):
    """Hold, release, start, retry or cancel jobs, or run a task now."""

    project: str
    action: Action
    job: str = ""
    """A job, or the task to run; empty for all jobs, except to run."""

    restored: bool = False
    """Release only jobs that a restore has held."""

    from_start: bool = False
    """Discard the job's recorded steps."""


class RunDraftJobsAnswer(AnswerMessage, frozen=True):
    """The number of held jobs that run now."""

    released: int


class RunDraftJobs(RequestMessage[RunDraftJobsAnswer], frozen=True):
    """Run jobs and tasks of a draft for a time, or until it sleeps. 0 stops them."""

    project: str
    seconds: float
