"""Counts and lines about work outside of requests."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import Final

from bbops.runtime.agents.values import AGENTS
from bbops.runtime.http.responses import blame
from bbops.runtime.work.sent_webhooks import WEBHOOKS
from bbops.runtime.work.worker import Attempt, AttemptStart, EventReport, TickReport, WorkActivity
from bbops_server.data_plane.live.request_lines import Lines
from bbops_server.process.messages.lifecycle import MetricSample
from bbops_server.process.messages.reports import EventLogged, JobEnded, JobStarted, TaskTicked

BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0, 3600.0)
"""The upper ends of buckets, in seconds."""

MOST_SERIES: Final = 2_000
"""Of one metric; what comes beyond counts as OTHER."""

OTHER: Final = "other"
_Key = tuple[str, str]


class Histogram:
    """How often something took how long."""

    def __init__(self) -> None:
        self._counts, self._sum = [0] * (len(BOUNDS) + 1), 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._sum += seconds

    def samples(self, name: str, labels: dict[str, str], project: str) -> Iterator[MetricSample]:
        """Yield its buckets, each with all that took less, then the sum and the count."""
        total = 0
        ends = (*(f"{bound:g}" for bound in BOUNDS), "+Inf")
        for end, count in zip(ends, self._counts, strict=True):
            total += count
            yield MetricSample(f"{name}_bucket", {**labels, "le": end}, total, project)
        yield MetricSample(f"{name}_sum", labels, self._sum, project)
        yield MetricSample(f"{name}_count", labels, total, project)


class WorkCounts:
    """What one process has counted since it started."""

    def __init__(self) -> None:
        self._took = dict[_Key, Histogram]()
        self._waited = dict[_Key, Histogram]()
        self._missed = Counter[_Key]()
        self._sent = Counter[tuple[str, str, str]]()
        self._tokens = Counter[_Key]()

    def ended(self, project: str, attempt: Attempt) -> None:
        """Count an attempt of a job."""
        work = attempt.job.work
        _histogram(self._took, (project, work)).add(attempt.seconds)
        if work.startswith(WEBHOOKS) and attempt.job.is_bulk:
            self._sent[project, work.removeprefix(WEBHOOKS), attempt.outcome] += 1
        if work.startswith(AGENTS) and attempt.tokens:
            self._tokens[project, work.split("/")[1]] += attempt.tokens

    def happened(self, project: str, happening: WorkActivity) -> None:
        """Count what happened other than the end of an attempt."""
        match happening:
            case AttemptStart(job, waited_ms) if job.attempt == job.fence == 1:
                seconds = max(0, waited_ms) / 1000
                _histogram(self._waited, (project, job.work)).add(seconds)
            case TickReport(task, _, missed) if missed:
                self._missed[project, task] += missed

    def samples(self) -> Iterator[MetricSample]:
        """Yield everything."""
        for name, found in (("job_seconds", self._took), ("job_wait_seconds", self._waited)):
            for (project, work), histogram in found.items():
                yield from histogram.samples(name, {"work": work}, project)
        for (project, task), count in self._missed.items():
            yield MetricSample("ticks_missed_total", {"task": task}, count, project)
        for (project, agent), count in self._tokens.items():
            yield MetricSample("agent_tokens_total", {"agent": agent}, count, project)
        for (project, webhook, outcome), count in self._sent.items():
            labels = {"webhook": webhook, "outcome": outcome}
            yield MetricSample("deliveries_total", labels, count, project)


def _histogram(found: dict[_Key, Histogram], key: _Key) -> Histogram:
    if key not in found and len(found) >= MOST_SERIES:
        key = key[0], OTHER
    return found.setdefault(key, Histogram())


# ---- Report what happens outside of requests: what `bbops dev` prints. Nothing else pays for it


class WorkLines(Lines):
    """What the work process reports."""

    def happened(self, happening: WorkActivity) -> None:
        """Report what happened other than the end of an attempt."""
        match happening:
            case TickReport(task, runs, missed):
                self.tell(TaskTicked(task, runs, missed))
            case EventReport(event, works):
                self.tell(EventLogged(event.replace(":", " "), list(works)))
            case AttemptStart(job):
                self.tell(JobStarted(job.work, job.uid, job.attempt))

    def ended(self, attempt: Attempt) -> None:
        """Report how an attempt of a job has ended."""
        job, milliseconds = attempt.job, round(1000 * attempt.seconds, 3)
        self.tell(JobEnded(
            job.work, job.uid, attempt.outcome, job.attempt, milliseconds, attempt.reason,
            place_of(attempt),
        ))  # fmt: skip


def place_of(attempt: Attempt) -> str:
    """Return file and line of the step that failed; empty where none did."""
    return next(reversed(blame(attempt.error)[0]), "") if attempt.error else ""
