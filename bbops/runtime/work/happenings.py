"""What a worker has done, for whoever watches it: `bbops dev` prints it, metrics count it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from bbops.runtime.work.values import Claim, Event, NewJob, Route, Tick, TickDue


@dataclass(frozen=True, slots=True)
class Ticked:
    """The time of a task has come.

    Attributes:
        task: its name, such as `tasks/nightly`.
        runs: how many runs were due; one that overlaps may still be left out.
        missed: how many were left out, because no server ran at their time.
    """

    task: str
    runs: int
    missed: int = 0


@dataclass(frozen=True, slots=True)
class Logged:
    """An event has reached the log.

    Attributes:
        event: its name.
        jobs: what it starts, such as `triggers/order-paid`.
    """

    event: str
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Started:
    """An attempt of a job has begun.

    Attributes:
        waited_ms: since the job was made, or could run at the earliest.
    """

    job: Claim
    waited_ms: int = 0


Happening: TypeAlias = Ticked | Logged | Started


class NotedRoute:
    """A route that remembers what each event starts, until the move of the events is committed."""

    def __init__(self, route: Route) -> None:
        self._route, self.noted = route, list[Logged]()

    def __call__(self, event: Event) -> list[NewJob]:
        """Return the jobs of an event."""
        jobs = list(self._route(event))
        self.noted.append(Logged(event.name, tuple(one.work for one in jobs)))
        return jobs


class NotedDue:
    """Says what ticks make, and remembers it until they are committed."""

    def __init__(self, due: Callable[[Tick, int], TickDue]) -> None:
        self._due, self.noted = due, list[Ticked]()

    def __call__(self, tick: Tick, now: int) -> TickDue:
        """Return what a tick makes."""
        due = self._due(tick, now)
        if due.times or due.missed:
            self.noted.append(Ticked(tick.task, len(due.times), len(due.missed)))
        return due
