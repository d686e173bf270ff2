"""Report what happens outside of requests: what `bbops dev` prints. Nothing else pays for it."""

from __future__ import annotations

from bbops.runtime.http.responses import blame
from bbops.runtime.work.worker import Attempt, AttemptStart, EventReport, TickReport, WorkActivity
from bbops_server.data_plane.live.lines import Lines
from bbops_server.process.messages.reports import EventLogged, JobEnded, JobStarted, TaskTicked


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
