"""List jobs, and run, retry, cancel, hold or release them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

import click

from bbops.base.console import say
from bbops.base.json_work import ChangedJobs, Job, JobList, JobStory
from bbops.base.moments import shown_time
from bbops.base.render import one_line, plural, printable
from bbops.interfaces.cli._command_group import CommandGroup, examples
from bbops.interfaces.cli._target import (
    ProjectTarget,
    confirm,
    limit_option,
    print_list,
    with_project_target,
    with_target,
    yes_option,
)

_COLORS: Final = {
    "done": "green", "running": "cyan", "later": "yellow", "held": "yellow", "dead": "red",
    "cancelled": "red",
}  # fmt: skip
_STATES: Final = ("ready", "blocked", "later", "running", "held", "dead", "ended")
_NEXT: Final = {
    ("run", "dead"): "; 'bbops jobs retry' runs it again",
    ("run", "blocked"): " by another job of its lane; 'bbops jobs show' names that job",
    ("retry", "blocked"): " by another job of its lane; 'bbops jobs show' names that job",
}
"""The next step, by the action and the state of a job that it does not change."""


@examples("bbops jobs list", "bbops jobs list --state dead")
@click.group(cls=CommandGroup)
def command() -> None:
    """Manage jobs: the runs of tasks and triggers; developers see them, maintainers change them.

    JOB below is a job's name, as 'bbops jobs list' shows it, such as triggers/order-paid@17.
    """


@examples("bbops jobs list", "bbops jobs list --state ended --limit 10")
@command.command("list")
@click.option("--state", type=click.Choice(_STATES), default=None,
              help="Only jobs in this state; 'ended' lists jobs that have ended.")  # fmt: skip
@limit_option
@with_target
def list_jobs(state: str | None, limit: int, target: ProjectTarget) -> None:
    """List the jobs that have not ended, oldest first.

    The time is the next run of a job; without one, the time at which the job was created.
    """
    jobs = target.read(f"jobs?show={state or ''}&limit={limit}", JobList)
    if target.as_json:
        target.print(jobs)
        return
    none = f"no jobs{f' are {state}' if state and state != 'ended' else ''}"
    print_list(jobs.jobs, _line, none=none, as_json=False)
    if len(jobs.jobs) == limit:
        counts = ", ".join(f"{count} {counted}" for counted, count in jobs.counts.items())
        say(f"total: {counts}")


@examples("bbops jobs show triggers/order-paid@17")
@command.command("show")
@click.argument("job")
@with_target
def show_job(job: str, target: ProjectTarget) -> None:
    """Show a job: its cause, the condition for its next run, its payload, and its completed steps.

    Causes and steps are shown with file and line; the first cause is often a request.
    """
    story = target.read(f"jobs/story?job={quote(job, safe='')}", JobStory)
    target.print(story, *_story(story))


@examples("bbops jobs run triggers/order-paid@17")
@command.command("run")
@click.argument("job")
@with_target
def run(job: str, target: ProjectTarget) -> int:
    """Run a held job, or a job that waits for a time, now.

    In a draft, jobs run this way one by one. The attempts of the job count on; a job that sleeps at
    a 'wait' continues to wait.
    """
    return _change_one(
        target, "run", {"job": job}, f"{job} runs now, or as soon as its lane is free"
    )


@examples("bbops jobs retry triggers/order-paid@17")
@command.command("retry")
@click.argument("job")
@click.option("--from-start", is_flag=True,
              help="Run the job from its first step, not only the remaining ones.")  # fmt: skip
@with_target
def retry(job: str, target: ProjectTarget, *, from_start: bool) -> int:
    """Run a job again now if it is dead or held, or waits for its next attempt.

    It continues after its last completed step. A dead job stays dead while another job
    with the same 'unique' is queued, which does its work.
    """
    body = {"job": job, "fromStart": from_start}
    return _change_one(target, "retry", body, f"{job} runs again")


@examples("bbops jobs cancel triggers/order-paid@17")
@command.command("cancel")
@click.argument("job")
@with_target
def cancel(job: str, target: ProjectTarget) -> int:
    """Cancel a job: without running it, or at its next step if it is running."""
    return _change_one(target, "cancel", {"job": job}, f"cancelled {job}")


@examples("bbops jobs hold", "bbops jobs hold --yes")
@command.command("hold")
@yes_option
@with_project_target
def hold(target: ProjectTarget, *, yes: bool) -> int:
    """Hold all waiting jobs until they are released. Running jobs continue."""
    if not yes and not _confirm(target, "hold", "waiting", ("ready", "later", "blocked")):
        return 1
    held = target.change("jobs/hold", ChangedJobs)
    target.print(held, f"held {plural(held.count, 'job')}")
    return 0


@examples("bbops jobs release triggers/order-paid@17", "bbops jobs release --restored --yes")
@command.command("release")
@click.argument("job", default="")
@click.option("--restored", is_flag=True,
              help="Release the jobs that 'bbops db restore' has held.")  # fmt: skip
@yes_option
@with_target
def release(job: str, target: ProjectTarget, *, restored: bool, yes: bool) -> int:
    """Release held jobs: JOB, or all of them.

    All jobs of a live project are released after a question.
    """
    asks = not (yes or job or target.draft)
    if asks and not _confirm(target, "release", "held", ("held",)):
        return 1
    body = {"job": job, "restored": restored}
    if job:
        return _change_one(target, "release", body, "released 1 job")
    released = target.change("jobs/release", ChangedJobs, body)
    target.print(released, f"released {plural(released.count, 'job')}")
    return 0


def _confirm(target: ProjectTarget, action: str, kind: str, states: Sequence[str]) -> bool:
    """Return whether the user agrees to change all jobs of some states; true without any."""
    counts = target.read("jobs?limit=1", JobList).counts
    count = sum(counts.get(state, 0) for state in states)
    project = f"project '{target.project}'" if target.project else "the project"
    return not count or confirm(
        f"{action} {plural(count, f'{kind} job')} of {project} at {target.server}?"
    )


def _change_one(target: ProjectTarget, action: str, body: Any, done: str) -> int:
    """Change a job and print the result. Exits with 1 if the job was not changed."""
    changed = target.change(f"jobs/{action}", ChangedJobs, body)
    none = f"nothing to {action}: " + (
        f"{changed.job} has the same 'unique', is queued and does the work"
        if changed.job
        else f"the job is {changed.state}{_NEXT.get((action, changed.state), '')}"
    )
    target.print(changed, done if changed.count else none)
    return 0 if changed.count else 1


def _story(story: JobStory) -> list[str]:
    return [
        _line(story.job),
        f"created  {shown_time(story.job.created_at)}",
        *(f"cause    {printable(text)}" for text in story.causes),
        *(f"waits    for {printable(text)}" for text in story.waits),
        f"payload  {one_line(story.payload)}",
        *(f"done     {printable(text)}" for text in story.steps),
    ]


def _line(job: Job) -> str:
    state = click.style(f"{job.state:<9}", fg=_COLORS.get(job.state))
    parts = [shown_time(job.run_at or job.created_at), state, printable(job.name)]
    if job.attempts > 1:
        parts.append(f"attempt {job.attempts}")
    unique = job.lane.removeprefix(f"unique {job.work}/")
    if unique != job.lane:
        parts.append(f"unique {one_line(unique)}")
    elif job.lane and job.lane != job.work:
        parts.append(f"lane {one_line(job.lane)}")
    line = "  ".join(parts)
    return f"{line}\n    {one_line(job.error)}" if job.error else line
