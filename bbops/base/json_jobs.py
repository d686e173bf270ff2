"""Jobs as JSON, in the same form for every process, page, command and program."""

from __future__ import annotations

import msgspec


class Job(msgspec.Struct, frozen=True):
    """A job: what runs outside of a request. Times are seconds since 1970.

    `state` is ready, blocked (its lane is taken), later (it waits for `run_at`), running, held or
    dead; of one that has ended done or cancelled, and `run_at` is when.
    """

    name: str
    work: str
    state: str
    attempts: int
    run_at: float
    created_at: float
    lane: str = ""
    error: str = ""


class JobStory(msgspec.Struct, frozen=True):
    """What is known of a job: its payload as JSON, what caused it, what it has done.

    `causes` begins with what caused it, and goes back to the request, where that is known. `waits`
    says what a job that sleeps or is blocked waits for.
    """

    job: Job
    payload: str
    causes: list[str]
    steps: list[str]
    waits: list[str] = []


class TaskTime(msgspec.Struct, frozen=True):
    """When a task runs next, in seconds since 1970."""

    task: str
    next_at: float


class TickTime(msgspec.Struct, frozen=True):
    """A tick: seconds since 1970, and the time in the task's time zone, with its offset."""

    at: float
    local: str


class TaskTicks(msgspec.Struct, frozen=True):
    """The next ticks of a task.

    Attributes:
        schedule: as people read it, such as `at '30 2 * * *' (Europe/Berlin)`.
        jitter_seconds: how much later than its tick a run begins at most.
    """

    task: str
    schedule: str
    timezone: str
    jitter_seconds: float
    ticks: list[TickTime]


class JobList(msgspec.Struct, frozen=True):
    """Jobs, how many are in each state, and when tasks run next."""

    jobs: list[Job]
    counts: dict[str, int]
    tasks: list[TaskTime]


class ChangedJobs(msgspec.Struct, frozen=True):
    """How many jobs were changed.

    Attributes:
        job: the new job of a task, or the replacement of a job that stays dead.
        state: the state of a job that was not changed; else empty.
    """

    count: int
    job: str = ""
    state: str = ""
