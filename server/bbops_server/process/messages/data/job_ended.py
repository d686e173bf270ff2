"""An attempt of a job has ended: what `bbops dev` prints."""

from __future__ import annotations

from typing import Literal

from bbops_server.process.messages.request import Event


class JobEnded(Event, frozen=True):
    """An attempt of a job has ended: what `bbops dev` prints.

    Attributes:
        work: what ran, such as `tasks/nightly`.
        job: its name, which no other job has.
        outcome: `retrying` is tried again later, `waiting` sleeps in a step.
        attempt: 1 for the first.
        reason: why it failed or is held.
        at: file and line of the step that failed.
    """

    work: str
    job: str
    outcome: Literal["done", "waiting", "retrying", "dead", "held"]
    attempt: int
    milliseconds: float
    reason: str = ""
    at: str = ""
