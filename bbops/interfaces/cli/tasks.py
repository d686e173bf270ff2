"""List the schedule of tasks and their next ticks, and run a task now."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import click
from click.core import ParameterSource

from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError, ProjectError
from bbops.base.json_work import ChangedJobs, JobList, TaskTicks, TaskTime
from bbops.base.moments import shown_time
from bbops.base.render import printable
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli._server import find_server
from bbops.interfaces.cli._target import (
    ProjectTarget,
    describe_started,
    print_list,
    with_project_target,
    with_target,
)
from bbops.interfaces.cli.validate import require_project
from bbops.source.tree import FolderTree

_NONE = "no tasks; 'bbops new task' creates one"


@examples("bbops tasks list", "bbops tasks run nightly")
@click.group(cls=CommandGroup)
def command() -> None:
    """List the live tasks of a project and their next ticks, and run a task now."""


@examples("bbops tasks list")
@command.command("list")
@with_project_target
def show(target: ProjectTarget) -> None:
    """List the tasks and when each runs next, in UTC."""
    tasks = target.read("jobs?limit=1", JobList).tasks
    print_list(tasks, _line, none=_NONE, as_json=target.as_json)


@examples("bbops tasks run nightly")
@command.command("run")
@click.argument("task")
@with_target
def run(task: str, target: ProjectTarget) -> None:
    """Run TASK now. Its schedule does not change."""
    started = target.change("tasks/run", ChangedJobs, {"task": task})
    target.print(started, describe_started(started.job))


@examples("bbops tasks next", "bbops tasks next nightly --count 10")
@command.command("next")
@click.argument("task", default="")
@click.option("--count", default=5, show_default=True, type=click.IntRange(1, 100),
              help="The number of ticks of each task.")  # fmt: skip
@click.option("--path", "folder", default=None, type=click.Path(path_type=Path), metavar="DIR",
              help="Read the schedules of the project in DIR, without a server.")  # fmt: skip
@with_project_target
def list_next(task: str, count: int, folder: Path | None, target: ProjectTarget) -> None:
    """List the next ticks of TASK, or of all tasks, in the task's time zone and in UTC.

    A server lists the ticks of live tasks. In a project's folder without a server, they are
    computed from the schedules in its files; 'every' then counts from now.
    """
    folder = folder or _folder_without_server(target)
    tasks = (
        _read_folder(folder, task, count) if folder
        else target.read(f"tasks/next?task={quote(task, safe='')}&count={count}", list[TaskTicks])
    )  # fmt: skip
    print_list(tasks, _ticks, none=_NONE, as_json=target.as_json)


def _folder_without_server(target: ProjectTarget) -> Path | None:
    """Return the project's folder, unless a server is given or runs for it."""
    source = click.get_current_context().get_parameter_source("server")
    if source is not ParameterSource.DEFAULT or target.project or find_server():
        return None
    from bbops.edit.authoring.folder import find_root  # noqa: PLC0415 - only without a server

    return find_root(Path())


def _read_folder(folder: Path, task: str, count: int) -> Sequence[TaskTicks]:
    """Return the next ticks of the enabled tasks of a project's files.

    Raises:
        BbopsError: there is no project, or it has no such task.
        ProjectError: the project has errors.
    """
    require_project(folder)
    from bbops.compiler.check import validate  # noqa: PLC0415 - pydantic and every step
    from bbops.compiler.compile.work import compile_schedule  # noqa: PLC0415 - as above
    from bbops.runtime.work.schedules import list_ticks  # noqa: PLC0415 - as above

    tree = FolderTree(folder)
    project, diagnostics = validate(tree, base=tree)
    if project is None:
        raise ProjectError(diagnostics)
    from bbops.compiler.compile.agents import agent_tasks  # noqa: PLC0415 - as above

    task_name = task.removeprefix("tasks/").removesuffix(".yaml")
    tasks = {
        name: task_file.model
        for name, task_file in project.tasks.items()
        if task_file.model.enabled
    }
    tasks |= {start.name: start.model for start in agent_tasks(project)}
    if f"{task_name}/schedule" in tasks:  # agents/NAME
        task_name = f"{task_name}/schedule"
    if task_name and task_name not in tasks:
        if task_name in project.tasks:
            hint = f"remove 'enabled: false' from tasks/{task_name}.yaml"
            raise BbopsError(f"task '{task_name}' is not enabled", hint=hint)
        hint = suggest(task_name, tasks) or "'bbops tasks next' lists the enabled tasks"
        raise BbopsError(f"the project has no task '{task}'", hint=hint)
    now = round(1000 * time.time())  # noqa: TID251 - ours
    return [
        list_ticks(
            compile_schedule(name if name.startswith("agents/") else f"tasks/{name}", model),
            count, now,
        )
        for name, model in sorted(tasks.items()) if not task_name or name == task_name
    ]  # fmt: skip


def _line(task: TaskTime) -> str:
    return f"{shown_time(task.next_at)}  {printable(task.task)}"


def _ticks(task: TaskTicks) -> str:
    late = f", each up to {task.jitter_seconds:g} s later" if task.jitter_seconds else ""
    zone = printable(task.timezone)
    ticks = [f"    {tick.local} {zone}  {shown_time(tick.at)}" for tick in task.ticks]
    return "\n".join([f"{printable(task.task)}  {printable(task.schedule)}{late}", *ticks])
