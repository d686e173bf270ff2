"""Activity that `bbops dev` prints."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from bbops_server.process.messages.request import DoneAnswer, EventMessage, RequestMessage


class ReportRequests(RequestMessage[DoneAnswer], frozen=True):
    """Report each request after its response. Sent before the process listens."""


class RequestAnswered(EventMessage, frozen=True):
    """A response was sent.

    Attributes:
        path: without its query and secrets.
        status: 0 if the client left before the response began.
        code: the error code; empty without an error.
        at: file and line of the failed step.
        missed: the number of earlier requests that were too many to report.
    """

    method: str
    path: str
    status: int
    milliseconds: float
    code: str = ""
    at: str = ""
    missed: int = 0


class JobStarted(EventMessage, frozen=True):
    """A job's attempt has started.

    Attributes:
        work: a trigger, task or function, such as `tasks/nightly`.
        job: its unique name.
        attempt: 1 for the first.
    """

    work: str
    job: str
    attempt: int


class JobEnded(EventMessage, frozen=True):
    """A job's attempt has ended.

    Attributes:
        work: a trigger, task or function, such as `tasks/nightly`.
        job: its unique name.
        outcome: `retrying` has a later attempt, `waiting` sleeps in a step.
        attempt: 1 for the first.
        reason: the cause of its failure or hold.
        at: file and line of the failed step.
    """

    work: str
    job: str
    outcome: Literal["done", "waiting", "retrying", "dead", "held"]
    attempt: int
    milliseconds: float
    reason: str = ""
    at: str = ""


class TaskTicked(EventMessage, frozen=True):
    """A task is due.

    Attributes:
        task: its name, such as `tasks/nightly`.
        runs: the number of due runs.
        missed: the number of runs skipped because no server was up.
    """

    task: str
    runs: int
    missed: int = 0


class EventLogged(EventMessage, frozen=True):
    """An event was emitted, or a row changed.

    Attributes:
        name: the event's name; for a row, its table and the change.
        starts: the triggers that run.
    """

    name: str
    starts: list[str]


class MessagePublished(EventMessage, frozen=True):
    """A message was published on a topic.

    Attributes:
        topic: its name with parameters, such as `boards/7`.
        name: the message's event, such as `note.added`.
    """

    topic: str
    name: str


class LinesMissed(EventMessage, frozen=True):
    """The number of lines that a slow terminal left out."""

    count: int


Reported: TypeAlias = (
    RequestAnswered
    | JobStarted
    | JobEnded
    | TaskTicked
    | EventLogged
    | MessagePublished
    | LinesMissed
)

REPORTED: Final[tuple[type[EventMessage], ...]] = get_args(Reported)
"""The classes of `Reported`."""
