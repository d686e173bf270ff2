"""List the schedule of tasks, and run a task now."""

from __future__ import annotations

import click

from bbops.base.json_jobs import ChangedJobs, JobList, TaskTime
from bbops.base.moments import shown_time
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import CommandGroup
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._listing import print_list
from bbops.interfaces.cli._target import (
    ProjectTarget,
    describe_started,
    with_project_target,
    with_target,
)


@examples("bbops tasks list", "bbops tasks run nightly")
@click.group(cls=CommandGroup)
def command() -> None:
    """List the live tasks of a project, and run one now."""


@examples("bbops tasks list")
@command.command("list")
@with_project_target
def show(target: ProjectTarget) -> None:
    """List the tasks and when each runs next, in UTC."""
    tasks = target.read("jobs?limit=1", JobList).tasks
    print_list(tasks, _line, none="no tasks; 'bbops new task' creates one", as_json=target.as_json)


@examples("bbops tasks run nightly")
@command.command("run")
@click.argument("task")
@with_target
def run(task: str, target: ProjectTarget) -> None:
    """Run TASK now. Its schedule does not change."""
    started = target.change("tasks/run", ChangedJobs, {"task": task})
    target.print(started, describe_started(started.job))


def _line(task: TaskTime) -> str:
    return f"{shown_time(task.next_at)}  {printable(task.task)}"
