"""Values of the engine. Times are Unix times in milliseconds, payloads are JSON texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal
from uuid import UUID, uuid5

_KEYS: Final = UUID("0f9d1a3e-5c0e-4a53-9a0b-6a1f4b1f7c11")
"""Namespace of `Claim.key`."""

State = Literal["ready", "blocked", "later", "running", "held", "dead"]
"""`ready` has its seat in its lane, `blocked` waits for one, `later` for a time."""

HIGH, NORMAL, LOW, BULK = 0, 1, 2, 3
"""Priorities: a smaller one is claimed before others; BULK has seats of its own."""

RESTORED: Final = "restored"
"""Why jobs of a restored database are held."""

REMOVED_SUFFIX: Final = " any more"
"""Ends why jobs are held whose trigger, task or function is gone; they are dropped after a week."""

MAX_DEPTH: Final = 16
"""How many jobs may cause one another in a row."""

DEEP: Final = "tooDeep"
TOO_DEEP: Final = f"{MAX_DEPTH} jobs in a row have caused one another"


AT: Final = " at "
"""Stands in a cause before the step, which is told by file and line."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Which job or request something comes from, and how many jobs caused one another up to it."""

    job: str = ""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class ProjectEvent:
    """What happened, as the log keeps it.

    Attributes:
        id: its number in the outbox, which nothing else ever has.
        name: such as `order.paid`.
        key: what it is about, empty where nobody says so.
    """

    id: int
    name: str
    payload: str
    at: int
    key: str = ""
    cause: Cause = Cause()


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be made.

    Attributes:
        uid: what no other job has, such as `orders@17`: two of one uid are one job.
        work: the trigger, task or function that is to run.
        lane: jobs of one lane take turns, in the order of commits; empty for none.
        seats: how many of a lane may run at a time; beyond one there is no order.
        run_at: not before.
        is_debounced: one that still waits is replaced by the next of its uid.
        unique: another job of this key is not made for `unique_ms`; empty for none.
        created_at: when what it comes from happened; only of one that is unique.
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
"""Says which jobs an event makes."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that this worker runs: `fence` is another one once somebody else has it.

    Attributes:
        attempt: 1 for the first.
        code: the digest of what it has begun with; empty before the first step.
        seq: the event's place in the log; 0 without one.
        is_bulk: it has a seat of those that no other job has.
        due_at: when it was made, or could run at the earliest.
        created_at: when it was made, in milliseconds since 1970.
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
        """A name for other services: the same in each attempt, and no other job's."""
        return str(uuid5(_KEYS, f"{self.uid} {self.created_at}"))


Outcome = Literal["done", "cancelled"]


@dataclass(frozen=True, slots=True)
class JobSummary:
    """A job as people see it; `state` is its outcome once it has ended."""

    uid: str
    work: str
    state: State | Outcome
    attempts: int
    run_at: int
    lane: str
    error: str
    created_at: int = 0


@dataclass(frozen=True, slots=True)
class JobDetails:
    """What is known of one job.

    Attributes:
        payload: JSON.
        causes: what caused it, what caused that, and so on, as far as that is known.
        steps: what it has done, by file and line.
        waits: what it waits for; nothing where it does not.
    """

    job: JobSummary
    payload: str
    causes: Sequence[str]
    steps: Sequence[str]
    waits: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Tick:
    """A time at which a task was to run; another `schedule` counts anew."""

    task: str
    at: int
    schedule: str = ""


@dataclass(frozen=True, slots=True)
class TickDue:
    """What a tick makes.

    Attributes:
        times: at which the task was to run, and did not.
        coming: its next tick; None where the task is gone.
        overlap: `skip` leaves out what comes while a job of the task is there, `queue` lets one
            wait for it, `allow` lets them run side by side.
        delay_ms: how much later than its time it runs.
        missed: times at which it was to run, and which nothing makes up for; the newest last.
    """

    times: Sequence[int] = ()
    coming: int | None = None
    overlap: Literal["skip", "queue", "allow"] = "allow"
    delay_ms: int = 0
    missed: Sequence[int] = ()


Counts = Mapping[State, int]


class FencedError(Exception):
    """Somebody else has the job: what was to be written is undone, and the run ends."""


@dataclass(frozen=True, slots=True)
class JobWait:
    """What a job waits for at one of its steps.

    Attributes:
        path: of the step.
        until: when it goes on in any case.
        event: the event that it waits for; empty where it waits for the time alone.
        value: what an event must hold somewhere to be of interest, as `runtime.work.triggers` writes
            it; empty where any may be.
        since: it has looked at the events up to this one.
    """

    path: str
    until: int
    event: str = ""
    value: str = ""
    since: int = 0


class AsleepError(BaseException):
    """A job waits: its run ends here and goes on from the record. No step can catch it.

    Attributes:
        waits: what for; several where branches wait at the same time.
    """

    def __init__(self, *waits: JobWait) -> None:
        super().__init__()
        self.waits = waits


class LaterError(Exception):
    """A job is not to run before a time, which is no failed attempt.

    Attributes:
        at: the time in milliseconds since 1970.
    """

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class HeldError(Exception):
    """A job cannot go on by itself: nobody guesses. Its text is the reason."""


def format_time(at: int) -> str:
    """Return a time as people read it, such as `2026-03-01T02:30:00Z`."""
    found = datetime.fromtimestamp(at // 1000, UTC).isoformat().removesuffix("+00:00")
    return f"{found}.{at % 1000:03}Z" if at % 1000 else f"{found}Z"


RESERVED_PREFIX: Final = "bbops"
"""Of all of them."""

JOB_DEAD: Final = "bbops.job-dead"
TASK_MISSED: Final = "bbops.task-missed"
RECEIVER_DISABLED: Final = "bbops.receiver-disabled"

OWN_EVENTS: Final[Mapping[str, Sequence[str]]] = {
    JOB_DEAD: ("job", "work", "error", "attempts"),
    TASK_MISSED: ("task", "first", "last", "count"),
    RECEIVER_DISABLED: ("webhook", "receiver", "reason"),
}
"""The fields of what each of them brings."""


def is_reserved(event: str) -> bool:
    """Return whether only bbops may emit an event."""
    return event.partition(".")[0] == RESERVED_PREFIX


JITTER: Final = 0.2
"""By default: what failed together comes back apart."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a job is tried, and the pauses in between; the default is that of the language.

    Attributes:
        pauses: seconds after each attempt, in the place of those that grow.
        jitter: of a pause, how much it may be shorter or longer.
    """

    attempts: int = 5
    first_seconds: float = 5.0
    factor: float = 3.0
    longest_seconds: float = 3600.0
    pauses: Sequence[float] = ()
    jitter: float = JITTER

    def pause_ms(self, attempt: int, chance: float) -> int | None:
        """Return how long to wait after an attempt has failed, None when it was the last.

        Args:
            attempt: 1 for the first.
            chance: from 0 to 1, drawn for this pause.
        """
        if attempt >= self.attempts:
            return None
        if self.pauses:
            pause = self.pauses[attempt - 1]
        else:
            growth = min(attempt - 1, 64)
            pause = min(self.first_seconds * self.factor**growth, self.longest_seconds)
        return round(1000 * pause * (1 + self.jitter * (2 * chance - 1)))
