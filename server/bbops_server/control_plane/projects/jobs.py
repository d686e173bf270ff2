"""Jobs of a project: what runs outside of requests, seen and changed by who runs the project."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from litestar.exceptions import HTTPException, NotFoundException
from litestar.params import Body, FromPath, QueryParameter

from bbops.base.errors import BbopsError, ServerError
from bbops.base.json_jobs import ChangedJobs, JobList, JobStory, TaskTicks
from bbops.runtime.work.upcoming import MOST_TICKS
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.projects.protocols import JobSource

_NAME: Final = msgspec.Meta(min_length=1, max_length=400)
Shown = Literal["", "ready", "blocked", "later", "running", "held", "dead", "ended"]
"""Which jobs are listed: all that have not ended, those in a state, or those that have ended."""


class OneJob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A job by its name, such as `triggers/order-paid@17`."""

    job: Annotated[str, _NAME]


class Retried(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A job by its name; with `fromStart` it forgets what it has done."""

    job: Annotated[str, _NAME]
    from_start: bool = msgspec.field(default=False, name="fromStart")


class Released(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A held job by its name, all that a restore has held, or all of them."""

    job: Annotated[str, msgspec.Meta(max_length=400)] = ""
    restored: bool = False


class OneTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task by its name: that of its file below `tasks/`."""

    task: Annotated[str, _NAME]


@read("/api/projects/{name:str}/jobs", Permission.READ_JOBS)
async def list_jobs(
    visit: Here, name: FromPath[str], show: Annotated[Shown, QueryParameter()] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 100,
) -> JobList:  # fmt: skip
    """Jobs that have not ended, oldest first, or those that `show` names, and the next ticks."""
    return await list_from(_jobs(visit, name), show, limit)


@read("/api/projects/{name:str}/jobs/story", Permission.READ_JOBS)
async def show_job(
    visit: Here, name: FromPath[str],
    job: Annotated[str, QueryParameter(min_length=1, max_length=400)],
) -> JobStory:  # fmt: skip
    """What is known of a job: its payload, its cause, and what it has done."""
    return await show_from(_jobs(visit, name), job)


@change("/api/projects/{name:str}/jobs/run", Permission.RETRY_JOBS, status=200)
async def run_job(visit: Here, name: FromPath[str], data: Annotated[OneJob, Body()]) -> ChangedJobs:
    """Run a job now that is held or waits for a time."""
    return await _change(visit, name, "start", data.job, job=data.job)


@change("/api/projects/{name:str}/jobs/retry", Permission.RETRY_JOBS, status=200)
async def retry_job(
    visit: Here, name: FromPath[str], data: Annotated[Retried, Body()]
) -> ChangedJobs:
    """Try a job again now that is dead, held or waits to be tried."""
    return await _change(visit, name, "retry", data.job, job=data.job, from_start=data.from_start)


@change("/api/projects/{name:str}/jobs/cancel", Permission.RETRY_JOBS, status=200)
async def cancel_job(
    visit: Here, name: FromPath[str], data: Annotated[OneJob, Body()]
) -> ChangedJobs:
    """End a job without running it, or at the next step of one that runs."""
    return await _change(visit, name, "cancel", data.job, job=data.job)


@change("/api/projects/{name:str}/jobs/hold", Permission.MANAGE_JOBS, status=200)
async def hold_jobs(visit: Here, name: FromPath[str]) -> ChangedJobs:
    """Hold all jobs that wait, until they are released; those that run go on."""
    return await _change(visit, name, "hold", "all")


@change("/api/projects/{name:str}/jobs/release", Permission.MANAGE_JOBS, status=200)
async def release_jobs(
    visit: Here, name: FromPath[str], data: Annotated[Released, Body()]
) -> ChangedJobs:
    """Let held jobs go on."""
    named = data.job or ("restored" if data.restored else "all")
    return await _change(visit, name, "release", named, job=data.job, restored=data.restored)


@read("/api/projects/{name:str}/tasks/next", Permission.READ_JOBS)
async def list_ticks(
    visit: Here, name: FromPath[str],
    task: Annotated[str, QueryParameter(max_length=400)] = "",
    count: Annotated[int, QueryParameter(ge=1, le=MOST_TICKS)] = 5,
) -> list[TaskTicks]:  # fmt: skip
    """The next ticks of a task, or of all live tasks."""
    try:
        found = await _jobs(visit, name).ticks(_task_name(task) if task else "", count)
    except BbopsError as error:
        raise refuse(error) from None
    if task and not found:
        raise _missing_task(task)
    return [*found]


@change("/api/projects/{name:str}/tasks/run", Permission.MANAGE_JOBS, status=200)
async def run_task(
    visit: Here, name: FromPath[str], data: Annotated[OneTask, Body()]
) -> ChangedJobs:
    """Run a task now, beside its schedule."""
    return await run_task_of(visit, name, _jobs(visit, name), data.task)


async def _change(visit: Visit, name: str, action: Any, which: str, **about: Any) -> ChangedJobs:
    return await change_in(visit, name, _jobs(visit, name), action, which, **about)


# ---- of whichever source: of a project, or of a draft
async def list_from(source: JobSource, show: str, limit: int) -> JobList:
    """Return jobs. Raises: HTTPException: they cannot be read."""
    try:
        return await source.list(show, limit)
    except BbopsError as error:
        raise refuse(error) from None


async def show_from(source: JobSource, job: str) -> JobStory:
    """Return what is known of a job. Raises: HTTPException: nothing is, or it cannot be read."""
    try:
        found = await source.show(job)
    except BbopsError as error:
        raise refuse(error) from None
    if found is None:
        hint = "'bbops jobs list' shows those there are, '--state ended' those that have ended"
        raise refuse(ServerError(f"there is no job '{job}'", hint=hint))
    return found


async def change_in(
    visit: Visit, where: str, source: JobSource, action: Any, which: str, **about: Any
) -> ChangedJobs:
    """Change jobs, on record. Raises: HTTPException: they cannot be changed."""
    try:
        found = await source.change(action, **about)
    except BbopsError as error:
        raise refuse(error) from None
    await visit.note(f"{action} jobs", object=f"{where} {which}: {found.count}")
    return found


async def run_task_of(visit: Visit, where: str, source: JobSource, named: str) -> ChangedJobs:
    """Run a task now. Raises: HTTPException: there is none of that name."""
    task = _task_name(named)
    found = await change_in(visit, where, source, "run", task, job=task)
    if not found.count:
        raise _missing_task(named)
    return found


def _task_name(given: str) -> str:
    return f"tasks/{given.removeprefix('tasks/').removesuffix('.yaml')}"


def _missing_task(given: str) -> HTTPException:
    hint = "'bbops tasks list' shows those that are live and enabled"
    return refuse(ServerError(f"the project has no task '{given}'", hint=hint))


def _jobs(visit: Visit, name: str) -> JobSource:
    found = visit.control.status.jobs(name)
    if found is None:
        raise NotFoundException(f"there is no project '{name}'")
    return found


ROUTES = (
    list_jobs, show_job, run_job, retry_job, cancel_job, hold_jobs, release_jobs, list_ticks,
    run_task,
)  # fmt: skip
