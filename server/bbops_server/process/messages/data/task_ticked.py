"""The time of a task has come: what `bbops dev` prints."""

from __future__ import annotations

from bbops_server.process.messages.request import Event


class TaskTicked(Event, frozen=True):
    """The time of a task has come: what `bbops dev` prints.

    Attributes:
        task: its name, such as `tasks/nightly`.
        runs: how many runs were due.
        missed: how many were left out, because no server ran at their time.
    """

    task: str
    runs: int
    missed: int = 0
