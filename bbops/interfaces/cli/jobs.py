"""List a project's jobs, and retry, cancel, hold or release them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

import click
import msgspec

from bbops.base.console import say
from bbops.base.json_jobs import ChangedJobs, Job, JobList, JobStory
from bbops.base.render import one_line, plural, printable
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

_COLOURS: Final = {
    "done": "green", "running": "cyan", "later": "yellow", "held": "yellow", "dead": "red",
    "cancelled": "red",
}  # fmt: skip
_STATES: Final = ("ready", "blocked", "later", "running", "held", "dead", "ended")


@examples("bbops jobs list", "bbops jobs list --state dead")
@click.group(cls=Family)
def command() -> None:
    """Manage jobs: the runs of tasks and triggers; developers see them, maintainers change them.

    JOB below is a job's name, as 'bbops jobs list' shows it, such as triggers/order-paid@17.
    """


@examples("bbops jobs list", "bbops jobs list --state ended --limit 10")
@command.command("list")
@click.option("--state", type=click.Choice(_STATES), default=None,
              help="Only jobs in this state; 'ended' lists those that have ended.")  # fmt: skip
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 1_000),
              help="How many jobs.")  # fmt: skip
@of_draft
@of_project
@of_server
@as_json_option
def show_all(
    state: str | None, limit: int, draft: str | None, project: str | None, server: str, *,
    as_json: bool,
) -> None:  # fmt: skip
    """List the jobs that have not ended, oldest first."""
    with open_remote(server) as remote:
        name = project or remote.only_project()
        path = remote.path_in(name, draft, f"jobs?show={state or ''}&limit={limit}")
        found = remote.of_project(name, "GET", path, JobList)
    if as_json:
        say(msgspec.json.encode(found).decode())
        return
    none = f"no jobs{f' are {state}' if state and state != 'ended' else ''}"
    say_list(found.jobs, _line, none=none, as_json=False)
    if len(found.jobs) == limit:
        counts = ", ".join(f"{count} {of}" for of, count in found.counts.items())
        say(f"in all: {counts}")


@examples("bbops jobs show triggers/order-paid@17")
@command.command("show")
@click.argument("job")
@of_draft
@of_project
@of_server
@as_json_option
def show_one(
    job: str, draft: str | None, project: str | None, server: str, *, as_json: bool
) -> None:  # fmt: skip
    """Show a job: what caused it, what it waits for, its payload, and what it has done.

    Causes and steps are named by file and line; the first cause is often a request.
    """
    with open_remote(server) as remote:
        name = project or remote.only_project()
        path = remote.path_in(name, draft, f"jobs/story?job={quote(job, safe='')}")
        found = remote.of_project(name, "GET", path, JobStory)
    if as_json:
        say(msgspec.json.encode(found).decode())
        return
    say(_line(found.job))
    say(f"created  {_when(found.job.created_at)}")
    for cause in found.causes:
        say(f"cause    {printable(cause)}")
    for awaited in found.waits:
        say(f"waits    for {printable(awaited)}")
    say(f"payload  {one_line(found.payload)}")
    for step in found.steps:
        say(f"done     {printable(step)}")


@examples("bbops jobs retry triggers/order-paid@17")
@command.command("retry")
@click.argument("job")
@click.option("--from-start", is_flag=True,
              help="Forget what the job has done, and do it again.")  # fmt: skip
@of_draft
@of_project
@of_server
@as_json_option
def retry(
    job: str, draft: str | None, project: str | None, server: str, *, from_start: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Run a job again now that is dead or held, or waits for its next attempt.

    It continues behind the last step that it has done.
    """
    body = {"job": job, "fromStart": from_start}
    return _change("retry", body, f"{job} runs again", (project, draft), server, as_json=as_json)


@examples("bbops jobs cancel triggers/order-paid@17")
@command.command("cancel")
@click.argument("job")
@of_draft
@of_project
@of_server
@as_json_option
def cancel(
    job: str, draft: str | None, project: str | None, server: str, *, as_json: bool
) -> int:  # fmt: skip
    """End a job without running it, or at the next step of one that runs."""
    of, body = (project, draft), {"job": job}
    return _change("cancel", body, f"cancelled {job}", of, server, as_json=as_json)


@examples("bbops jobs hold")
@command.command("hold")
@of_project
@of_server
@as_json_option
def hold(project: str | None, server: str, *, as_json: bool) -> int:
    """Hold all jobs that wait, until they are released. Those that run continue."""
    return _change("hold", None, "", (project, None), server, as_json=as_json)


@examples("bbops jobs release", "bbops jobs release --restored")
@command.command("release")
@click.argument("job", default="")
@click.option("--restored", is_flag=True,
              help="Release the jobs that 'bbops db restore' has held.")  # fmt: skip
@of_draft
@of_project
@of_server
@as_json_option
def release(
    job: str, draft: str | None, project: str | None, server: str, *, restored: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Let held jobs run: JOB, or all of them."""
    body = {"job": job, "restored": restored}
    return _change("release", body, "", (project, draft), server, as_json=as_json)


def _change(
    action: str, body: Any, done: str, of: tuple[str | None, str | None], server: str, *,
    as_json: bool,
) -> int:  # fmt: skip
    """Change jobs of a project, or of a draft of it, and say how many.

    Exits with 1 where a job that was named was not changed.
    """
    project, draft = of
    with open_remote(server) as remote:
        name = project or remote.only_project()
        path = remote.path_in(name, draft, f"jobs/{action}")
        found = remote.of_project(name, "POST", path, ChangedJobs, body)
    if as_json:
        say(msgspec.json.encode(found).decode())
    elif done and not found.count:
        say(f"nothing to {action}: 'bbops jobs list' shows the jobs and their states")
    else:
        verb = {"hold": "held", "release": "released"}.get(action, "")
        say(done or f"{verb} {plural(found.count, 'job')}")
    return 1 if done and not found.count else 0


def _line(one: Job) -> str:
    state = click.style(f"{one.state:<9}", fg=_COLOURS.get(one.state))
    parts = [_when(one.run_at or one.created_at), state, printable(one.name)]
    if one.attempts > 1:
        parts.append(f"attempt {one.attempts}")
    if one.lane and one.lane != one.work:
        parts.append(f"lane {one_line(one.lane)}")
    line = "  ".join(parts)
    return f"{line}\n    {one_line(one.error)}" if one.error else line


def _when(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}Z"
