"""Report what happens outside of requests: what `bbops dev` prints. Nothing else pays for it."""

from __future__ import annotations

from typing import Final

from bbops.runtime.http.responses import blame
from bbops.runtime.work.attempts import Attempt
from bbops.runtime.work.happenings import Happening, Logged, Started, Ticked
from bbops_server.process.messages.channel import Channel
from bbops_server.process.messages.data.event_logged import EventLogged
from bbops_server.process.messages.data.job_ended import JobEnded
from bbops_server.process.messages.data.job_started import JobStarted
from bbops_server.process.messages.data.lines_missed import LinesMissed
from bbops_server.process.messages.data.task_ticked import TaskTicked
from bbops_server.process.messages.request import Event

MOST_WAITING: Final = 500
"""Lines that wait for a terminal which is slower than the jobs; others are only counted."""


class WorkLines:
    """Lines on their way to the terminal."""

    def __init__(self, channel: Channel) -> None:
        """`channel` leads to the process that prints."""
        self._channel, self._missed = channel, 0

    def happened(self, happening: Happening) -> None:
        """Report what happened other than the end of an attempt."""
        match happening:
            case Ticked(task, runs, missed):
                self._tell(TaskTicked(task, runs, missed))
            case Logged(event, works):
                self._tell(EventLogged(event.replace(":", " "), list(works)))
            case Started(job):
                self._tell(JobStarted(job.work, job.uid, job.attempt))

    def ended(self, attempt: Attempt) -> None:
        """Report how an attempt of a job has ended."""
        job, milliseconds = attempt.job, round(1000 * attempt.seconds, 3)
        self._tell(JobEnded(
            job.work, job.uid, attempt.outcome, job.attempt, milliseconds, attempt.reason,
            place_of(attempt),
        ))  # fmt: skip

    def _tell(self, event: Event) -> None:
        if self._channel.waiting >= MOST_WAITING:
            self._missed += 1
            return
        if self._missed:
            self._channel.tell(LinesMissed(self._missed))
            self._missed = 0
        self._channel.tell(event)


def place_of(attempt: Attempt) -> str:
    """Return file and line of the step that failed; empty where none did."""
    return next(reversed(blame(attempt.error)[0]), "") if attempt.error else ""
