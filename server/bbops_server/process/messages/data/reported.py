"""What processes report while they work: lines of `bbops dev`."""

from __future__ import annotations

from typing import Final, TypeAlias, get_args

from bbops_server.process.messages.data.event_logged import EventLogged
from bbops_server.process.messages.data.job_ended import JobEnded
from bbops_server.process.messages.data.job_started import JobStarted
from bbops_server.process.messages.data.lines_missed import LinesMissed
from bbops_server.process.messages.data.message_published import MessagePublished
from bbops_server.process.messages.data.request_answered import RequestAnswered
from bbops_server.process.messages.data.task_ticked import TaskTicked
from bbops_server.process.messages.request import Event

Reported: TypeAlias = (
    RequestAnswered
    | JobStarted
    | JobEnded
    | TaskTicked
    | EventLogged
    | MessagePublished
    | LinesMissed
)

REPORTED: Final[tuple[type[Event], ...]] = get_args(Reported)
"""Each of them."""
