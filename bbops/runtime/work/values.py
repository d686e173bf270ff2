"""Values of background work. Times are Unix times in milliseconds, payloads are JSON texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal
from uuid import UUID, uuid5

_KEYS: Final = UUID("0f9d1a3e-5c0e-4a53-9a0b-6a1f4b1f7c11")
"""Namespace of `Claim.key`."""

State = Literal["ready", "blocked", "later", "running", "held", "dead"]
"""`ready` has a seat in its lane, `blocked` waits for a seat, `later` for a time."""

HIGH, NORMAL, LOW, BULK = 0, 1, 2, 3
"""Priorities: smaller numbers are claimed first; BULK jobs have separate seats."""

RESTORED: Final = "restored"
"""The hold reason of jobs in a restored database."""

REMOVED_SUFFIX: Final = " any more"
"""The end of the hold reason of jobs whose trigger, task or function was removed.

Such jobs are dropped after a week.
"""

MAX_DEPTH: Final = 16
"""The longest chain of jobs that cause one another."""

DEEP: Final = "tooDeep"
TOO_DEEP: Final = f"{MAX_DEPTH} jobs in a row have caused one another"


AT: Final = " at "
"""Separates a job or request from its step, as file and line, in a cause."""


@dataclass(frozen=True, slots=True)
class Cause:
    """The job or request that caused an event or a job, and the length of the chain of jobs."""

    job: str = ""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class ProjectEvent:
    """An event in the outbox or in the log.

    Attributes:
        id: the id in the outbox, which is never used again.
        name: such as `order.paid`.
        key: the subject of the event; may be empty.
    """

    id: int
    name: str
    payload: str
    at: int
    key: str = ""
    cause: Cause = Cause()


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job that is not in the queue yet.

    Attributes:
        uid: a unique name, such as `orders@17`; a second job with the same uid is not created.
        work: the trigger, task or function to run.
        lane: jobs in a lane run one after another, in the order of commits; may be empty.
        seats: the number of jobs in the lane that run at a time; with more than one, unordered.
        run_at: the earliest start.
        is_debounced: while the job waits, the next job with its uid replaces it.
        unique: a key for which no other job is created for `unique_ms`; may be empty.
        created_at: the time of the event, for a job with `unique`.
    """

    uid: str
    work: str
    payload: str
    lane: str = ""
    seats: int = 1
    priority: int = NORMAL
    run_at: int = 0
    is_debounced: bool = False
    cause: Cause = Cause()
    unique: str = ""
    unique_ms: int = 0
    created_at: int = 0


Route = Callable[[ProjectEvent], Iterable[NewJob]]
"""Returns the jobs that an event creates."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker's claim of a job. When another worker claims the job, its `fence` changes.

    Attributes:
        attempt: 1 for the first.
        code: the digest of the code that the job began with; empty before the first step.
        seq: the event's position in the log; 0 without an event.
        is_bulk: the job uses one of the seats for BULK jobs.
        due_at: the creation of the job, or its `run_at` if that is later.
        created_at: the creation of the job.
    """

    id: int
    uid: str
    work: str
    payload: str
    attempt: int
    fence: int
    lane: str
    code: str
    seq: int
    cause: Cause
    is_bulk: bool = False
    due_at: int = 0
    created_at: int = 0

    @property
    def key(self) -> str:
        """An idempotency key for other services: the same in each attempt, unique to the job."""
        return str(uuid5(_KEYS, f"{self.uid} {self.created_at}"))


Outcome = Literal["done", "cancelled"]


@dataclass(frozen=True, slots=True)
class Tick:
    """The next time of a task. When `schedule` changes, the time is computed again."""

    task: str
    at: int
    schedule: str = ""


@dataclass(frozen=True, slots=True)
class TickDue:
    """The runs of a due tick, and the task's next tick.

    Attributes:
        times: the due times for which the task runs now.
        coming: the next tick; None if the task was removed.
        overlap: while a job of the task has not ended, `skip` creates no job, `queue` lets one
            job wait, and `allow` runs jobs concurrently.
        delay_ms: the delay of each run.
        missed: due times for which the task does not run, oldest first.
    """

    times: Sequence[int] = ()
    coming: int | None = None
    overlap: Literal["skip", "queue", "allow"] = "allow"
    delay_ms: int = 0
    missed: Sequence[int] = ()


Counts = Mapping[State, int]


class FencedError(Exception):
    """Another worker has claimed the job: the write is rolled back and the run ends."""


@dataclass(frozen=True, slots=True)
class JobWait:
    """A job's wait for a time or an event, at one of its steps.

    Attributes:
        path: the path of the step.
        until: the deadline.
        event: the name of the event; empty for a time alone.
        value: a value that the event's payload contains, as `runtime.work.triggers` writes it;
            empty for any payload.
        since: the position in the log up to which the job has read events.
    """

    path: str
    until: int
    event: str = ""
    value: str = ""
    since: int = 0


class AsleepError(BaseException):
    """The job waits: this run ends, and a later run continues from the record.

    It is a BaseException, so that no step catches it.

    Attributes:
        waits: one wait for each waiting branch of the job.
    """

    def __init__(self, *waits: JobWait) -> None:
        super().__init__()
        self.waits = waits


class LaterError(Exception):
    """The job must not run before `at`. This does not use an attempt.

    Attributes:
        at: in milliseconds since 1970.
    """

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class HeldError(Exception):
    """The job needs a decision by a user before it can continue. The message is the reason."""


def format_time(at: int) -> str:
    """Return a time in ISO 8601, such as `2026-03-01T02:30:00Z`."""
    text = datetime.fromtimestamp(at // 1000, UTC).isoformat().removesuffix("+00:00")
    return f"{text}.{at % 1000:03}Z" if at % 1000 else f"{text}Z"


RESERVED_PREFIX: Final = "bbops"
"""The first part of the names of bbops's own events."""

JOB_DEAD: Final = "bbops.job-dead"
TASK_MISSED: Final = "bbops.task-missed"
RECEIVER_DISABLED: Final = "bbops.receiver-disabled"

AGENT_EVENTS: Final = tuple(
    f"bbops.agent-{what}" for what in ("started", "waiting", "finished", "failed")
)
"""The events of agents' runs."""

OWN_EVENTS: Final[Mapping[str, Sequence[str]]] = {
    JOB_DEAD: ("job", "work", "error", "attempts"),
    TASK_MISSED: ("task", "first", "last", "count"),
    RECEIVER_DISABLED: ("webhook", "receiver", "reason"),
    **dict.fromkeys(AGENT_EVENTS, ("agent", "run", "start", "chat", "error")),
}
"""The payload fields of bbops's own events."""


def is_reserved(event: str) -> bool:
    """Return whether only bbops may emit an event."""
    return event.partition(".")[0] == RESERVED_PREFIX


JITTER: Final = 0.2
"""The default jitter: jobs that failed together are retried at different times."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """A job's number of attempts and the pauses between them. Defaults as in the language.

    Attributes:
        pauses: fixed pauses in seconds, instead of exponential ones.
        jitter: the fraction by which a pause may be shorter or longer.
    """

    attempts: int = 5
    first_seconds: float = 5.0
    factor: float = 3.0
    longest_seconds: float = 3600.0
    pauses: Sequence[float] = ()
    jitter: float = JITTER

    def pause_ms(self, attempt: int, chance: float) -> int | None:
        """Return the pause after a failed attempt, None after the last one.

        Args:
            attempt: 1 for the first.
            chance: a random number from 0 to 1.
        """
        if attempt >= self.attempts:
            return None
        if self.pauses:
            pause = self.pauses[attempt - 1]
        else:
            growth = min(attempt - 1, 64)
            pause = min(self.first_seconds * self.factor**growth, self.longest_seconds)
        return round(1000 * pause * (1 + self.jitter * (2 * chance - 1)))
