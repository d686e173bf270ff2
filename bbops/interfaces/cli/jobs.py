"""List jobs, and run, retry, cancel, hold or release them."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

import click

from bbops.base.console import say
from bbops.base.json_jobs import ChangedJobs, Job, JobList, JobStory
from bbops.base.moments import shown_time
from bbops.base.render import one_line, plural, printable
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._family import Family
from bbops.interfaces.cli._listing import say_list
from bbops.interfaces.cli._place import Place, at_place, at_project, limit_option

_COLOURS: Final = {
    "done": "green", "running": "cyan", "later": "yellow", "held": "yellow", "dead": "red",
    "cancelled": "red",
}  # fmt: skip
_STATES: Final = ("ready", "blocked", "later", "running", "held", "dead", "ended")
_LISTED: Final = "'bbops jobs list' shows the jobs and their states"
_NOT_RUN: Final = (
    "the job is not held and waits for no time; 'bbops jobs show JOB' shows its state, and"
    " 'bbops jobs retry JOB' runs a dead job"
)


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
@limit_option
@at_place
def show_all(state: str | None, limit: int, place: Place) -> None:
    """List the jobs that have not ended, oldest first.

    The time is when a job runs next; of one that waits for no time, when it was created.
    """
    found = place.read(f"jobs?show={state or ''}&limit={limit}", JobList)
    if place.as_json:
        place.show(found)
        return
    none = f"no jobs{f' are {state}' if state and state != 'ended' else ''}"
    say_list(found.jobs, _line, none=none, as_json=False)
    if len(found.jobs) == limit:
        counts = ", ".join(f"{count} {of}" for of, count in found.counts.items())
        say(f"in all: {counts}")


@examples("bbops jobs show triggers/order-paid@17")
@command.command("show")
@click.argument("job")
@at_place
def show_one(job: str, place: Place) -> None:
    """Show a job: what caused it, what it waits for, its payload, and what it has done.

    Causes and steps are named by file and line; the first cause is often a request.
    """
    found = place.read(f"jobs/story?job={quote(job, safe='')}", JobStory)
    place.show(found, *_story(found))


@examples("bbops jobs run triggers/order-paid@17")
@command.command("run")
@click.argument("job")
@at_place
def run(job: str, place: Place) -> int:
    """Run a job now that is held, or that waits for a time.

    In a draft, jobs run this way one by one. The attempts of the job count on; a job that sleeps at
    a 'wait' continues to wait.
    """
    return _change_one(
        place, "run", {"job": job}, f"{job} runs now, or as soon as its lane is free", _NOT_RUN
    )


@examples("bbops jobs retry triggers/order-paid@17")
@command.command("retry")
@click.argument("job")
@click.option("--from-start", is_flag=True,
              help="Forget what the job has done, and do it again.")  # fmt: skip
@at_place
def retry(job: str, place: Place, *, from_start: bool) -> int:
    """Run a job again now that is dead or held, or waits for its next attempt.

    It continues behind the last step that it has done. A dead job stays dead while another one
    with the same 'unique' is queued, which does its work.
    """
    body = {"job": job, "fromStart": from_start}
    return _change_one(place, "retry", body, f"{job} runs again")


@examples("bbops jobs cancel triggers/order-paid@17")
@command.command("cancel")
@click.argument("job")
@at_place
def cancel(job: str, place: Place) -> int:
    """End a job without running it, or at the next step of one that runs."""
    return _change_one(place, "cancel", {"job": job}, f"cancelled {job}")


@examples("bbops jobs hold")
@command.command("hold")
@at_project
def hold(place: Place) -> None:
    """Hold all jobs that wait, until they are released. Those that run continue."""
    found = place.change("jobs/hold", ChangedJobs)
    place.show(found, f"held {plural(found.count, 'job')}")


@examples("bbops jobs release", "bbops jobs release --restored")
@command.command("release")
@click.argument("job", default="")
@click.option("--restored", is_flag=True,
              help="Release the jobs that 'bbops db restore' has held.")  # fmt: skip
@at_place
def release(job: str, place: Place, *, restored: bool) -> None:
    """Let held jobs run: JOB, or all of them."""
    found = place.change("jobs/release", ChangedJobs, {"job": job, "restored": restored})
    place.show(found, f"released {plural(found.count, 'job')}")


def _change_one(place: Place, action: str, body: Any, done: str, why: str = _LISTED) -> int:
    """Change a job and say so. Exits with 1 where it was not changed."""
    found = place.change(f"jobs/{action}", ChangedJobs, body)
    none = (
        f"nothing to {action}: {found.job} has the same 'unique', is queued and does the work"
        if found.job
        else f"nothing to {action}: {why}"
    )
    place.show(found, done if found.count else none)
    return 0 if found.count else 1


def _story(found: JobStory) -> list[str]:
    return [
        _line(found.job),
        f"created  {shown_time(found.job.created_at)}",
        *(f"cause    {printable(one)}" for one in found.causes),
        *(f"waits    for {printable(one)}" for one in found.waits),
        f"payload  {one_line(found.payload)}",
        *(f"done     {printable(one)}" for one in found.steps),
    ]


def _line(one: Job) -> str:
    state = click.style(f"{one.state:<9}", fg=_COLOURS.get(one.state))
    parts = [shown_time(one.run_at or one.created_at), state, printable(one.name)]
    if one.attempts > 1:
        parts.append(f"attempt {one.attempts}")
    if one.lane and one.lane != one.work:
        parts.append(f"lane {one_line(one.lane)}")
    line = "  ".join(parts)
    return f"{line}\n    {one_line(one.error)}" if one.error else line
