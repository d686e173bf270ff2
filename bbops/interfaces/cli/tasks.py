"""List when tasks run, and run one now."""

from __future__ import annotations

import click

from bbops.base.json_jobs import ChangedJobs, JobList, TaskTime
from bbops.base.moments import shown_time
from bbops.base.render import printable
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops.interfaces.cli._listing import say_list
from bbops.interfaces.cli._place import Place, at_place, at_project, started


@examples("bbops tasks list", "bbops tasks run nightly")
@click.group(cls=Family)
def command() -> None:
    """List the live tasks of a project, and run one now."""


@examples("bbops tasks list")
@command.command("list")
@at_project
def show(place: Place) -> None:
    """List the tasks and when each runs next, in UTC."""
    found = place.read("jobs?limit=1", JobList).tasks
    say_list(found, _line, none="no tasks; 'bbops new task' creates one", as_json=place.as_json)


@examples("bbops tasks run nightly")
@command.command("run")
@click.argument("task")
@at_place
def run(task: str, place: Place) -> None:
    """Run TASK now. Its schedule does not change."""
    found = place.change("tasks/run", ChangedJobs, {"task": task})
    place.show(found, started(found.job))


def _line(one: TaskTime) -> str:
    return f"{shown_time(one.next_at)}  {printable(one.task)}"
