"""An attempt of a job has begun: what `bbops dev` prints."""

from __future__ import annotations

from bbops_server.process.messages.request import Event


class JobStarted(Event, frozen=True):
    """An attempt of a job has begun: what `bbops dev` prints.

    Attributes:
        work: what runs, such as `tasks/nightly`.
        job: its name, which no other job has.
        attempt: 1 for the first.
    """

    work: str
    job: str
    attempt: int
