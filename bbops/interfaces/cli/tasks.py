"""List when tasks run, and run one now."""

from __future__ import annotations

from datetime import UTC, datetime

import click
import msgspec

from bbops.base.console import say
from bbops.base.json_jobs import ChangedJobs, JobList, TaskTime
from bbops.base.render import printable
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops.interfaces.cli._listing import say_list
from bbops.interfaces.cli._server import (
    as_json_option,
    of_draft,
    of_project,
    of_server,
    open_remote,
)


@examples("bbops tasks list", "bbops tasks run nightly")
@click.group(cls=Family)
def command() -> None:
    """List the live tasks of a project, and run one now."""


@examples("bbops tasks list")
@command.command("list")
@of_project
@of_server
@as_json_option
def show(project: str | None, server: str, *, as_json: bool) -> None:
    """List the tasks and when each runs next, in UTC."""
    with open_remote(server) as remote:
        name = project or remote.only_project()
        found = remote.of_project(name, "GET", "jobs?limit=1", JobList).tasks
    say_list(found, _line, none="no tasks; 'bbops new task' creates one", as_json=as_json)


@examples("bbops tasks run nightly")
@command.command("run")
@click.argument("task")
@of_draft
@of_project
@of_server
@as_json_option
def run(
    task: str, draft: str | None, project: str | None, server: str, *, as_json: bool
) -> None:  # fmt: skip
    """Run TASK now. Its schedule does not change."""
    with open_remote(server) as remote:
        name = project or remote.only_project()
        path = remote.path_in(name, draft, "tasks/run")
        found = remote.of_project(name, "POST", path, ChangedJobs, {"task": task})
    if as_json:
        say(msgspec.json.encode(found).decode())
    else:
        say(f"started {printable(found.job)}; 'bbops jobs show {printable(found.job)}' follows it")


def _line(one: TaskTime) -> str:
    return f"{datetime.fromtimestamp(one.next_at, UTC):%Y-%m-%dT%H:%M:%S}Z  {printable(one.task)}"
