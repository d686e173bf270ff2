"""List when tasks run, and run a task now."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import click
from click.core import ParameterSource

from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError, ProjectError
from bbops.base.json_jobs import ChangedJobs, JobList, TaskTicks, TaskTime
from bbops.base.moments import shown_time
from bbops.base.render import printable
from bbops.interfaces.cli._credentials import find_server
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops.interfaces.cli._listing import say_list
from bbops.interfaces.cli._place import Place, at_place, at_project, started
from bbops.interfaces.cli.validate import require_project
from bbops.source.tree import FolderTree

_NONE = "no tasks; 'bbops new task' creates one"


@examples("bbops tasks list", "bbops tasks run nightly")
@click.group(cls=Family)
def command() -> None:
    """List the live tasks of a project and their next ticks, and run a task now."""


@examples("bbops tasks list")
@command.command("list")
@at_project
def show(place: Place) -> None:
    """List the tasks and when each runs next, in UTC."""
    found = place.read("jobs?limit=1", JobList).tasks
    say_list(found, _line, none=_NONE, as_json=place.as_json)


@examples("bbops tasks run nightly")
@command.command("run")
@click.argument("task")
@at_place
def run(task: str, place: Place) -> None:
    """Run TASK now. Its schedule does not change."""
    found = place.change("tasks/run", ChangedJobs, {"task": task})
    place.show(found, started(found.job))


@examples("bbops tasks next", "bbops tasks next nightly --count 10")
@command.command("next")
@click.argument("task", default="")
@click.option("--count", default=5, show_default=True, type=click.IntRange(1, 100),
              help="How many ticks of each task.")  # fmt: skip
@click.option("--path", "folder", default=None, type=click.Path(path_type=Path), metavar="DIR",
              help="Read the schedules of the project in DIR, and ask no server.")  # fmt: skip
@at_project
def coming(task: str, count: int, folder: Path | None, place: Place) -> None:
    """List the next ticks of TASK, or of all tasks, in the task's time zone and in UTC.

    A server lists the ticks of live tasks. In a project's folder without a server, they are
    computed from the schedules in its files; 'every' then counts from now.
    """
    folder = folder or _folder_without_server(place)
    found = (
        _read_folder(folder, task, count) if folder
        else place.read(f"tasks/next?task={quote(task, safe='')}&count={count}", list[TaskTicks])
    )  # fmt: skip
    say_list(found, _ticks, none=_NONE, as_json=place.as_json)


def _folder_without_server(place: Place) -> Path | None:
    """Return the project around the current folder, unless a server is named or runs for it."""
    source = click.get_current_context().get_parameter_source("server")
    if source is not ParameterSource.DEFAULT or place.project or find_server():
        return None
    from bbops.edit.authoring.folder import find_root  # noqa: PLC0415 - only without a server

    return find_root(Path())


def _read_folder(folder: Path, task: str, count: int) -> Sequence[TaskTicks]:
    """Return the next ticks of the enabled tasks of a project's files.

    Raises:
        BbopsError: there is no project, or it has no such task.
        ProjectError: the project has mistakes.
    """
    require_project(folder)
    from bbops.build.check import validate  # noqa: PLC0415 - pydantic and every step
    from bbops.build.compile.schedules import compile_schedule  # noqa: PLC0415 - as above
    from bbops.runtime.work.schedules import list_ticks  # noqa: PLC0415 - as above

    tree = FolderTree(folder)
    project, found = validate(tree, base=tree)
    if project is None:
        raise ProjectError(found)
    wanted = task.removeprefix("tasks/").removesuffix(".yaml")
    tasks = {name: one.model for name, one in project.tasks.items() if one.model.enabled}
    if wanted and wanted not in tasks:
        if wanted in project.tasks:
            hint = f"remove 'enabled: false' from tasks/{wanted}.yaml"
            raise BbopsError(f"task '{wanted}' is not enabled", hint=hint)
        hint = suggest(wanted, tasks) or "'bbops tasks next' lists those that are enabled"
        raise BbopsError(f"the project has no task '{task}'", hint=hint)
    now = round(1000 * time.time())  # noqa: TID251 - ours
    return [
        list_ticks(compile_schedule(name, one), count, now)
        for name, one in sorted(tasks.items()) if not wanted or name == wanted
    ]  # fmt: skip


def _line(one: TaskTime) -> str:
    return f"{shown_time(one.next_at)}  {printable(one.task)}"


def _ticks(one: TaskTicks) -> str:
    late = f", each up to {one.jitter_seconds:g} s later" if one.jitter_seconds else ""
    zone = printable(one.timezone)
    ticks = [f"    {at.local} {zone}  {shown_time(at.at)}" for at in one.ticks]
    return "\n".join([f"{printable(one.task)}  {printable(one.schedule)}{late}", *ticks])
