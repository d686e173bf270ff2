"""List the next ticks of the tasks of a project."""

from __future__ import annotations

from bbops.base.json_jobs import TaskTicks
from bbops_server.process.messages.request import Answer, Request


class Ticks(Answer, frozen=True):
    """The next ticks of each task, by the names of tasks."""

    tasks: list[TaskTicks]


class ListTicks(Request[Ticks], frozen=True):
    """List the next ticks of the tasks of a project."""

    project: str
    task: str
    """Only this task, such as `tasks/nightly`; all of them if empty."""

    count: int
