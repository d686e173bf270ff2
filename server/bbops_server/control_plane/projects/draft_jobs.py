"""Jobs of a draft: they run on request, or by themselves for a while."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from litestar.exceptions import NotFoundException
from litestar.params import Body, FromPath, QueryParameter

from bbops.base.errors import BbopsError
from bbops.base.json_jobs import ChangedJobs, JobList, JobStory
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.jobs import (
    OneJob,
    OneTask,
    Released,
    Retried,
    Shown,
    change_in,
    list_from,
    run_task_of,
    show_from,
)
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.projects.protocols import DraftJobSource

MOST_SECONDS: Final = 86_400
_DRAFT: Final = "/api/projects/{name:str}/drafts/{slug:str}"


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For how many seconds jobs and tasks are to run by themselves; 0 for no longer."""

    seconds: Annotated[float, msgspec.Meta(ge=0, le=MOST_SECONDS)]


class Running(msgspec.Struct, frozen=True):
    """How many jobs were held, and run now."""

    released: int


@read(f"{_DRAFT}/jobs", Permission.READ_JOBS)
async def list_draft_jobs(
    visit: Here, name: FromPath[str], slug: FromPath[str],
    show: Annotated[Shown, QueryParameter()] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 100,
) -> JobList:  # fmt: skip
    """The jobs of a draft, as `GET /api/projects/{name}/jobs`."""
    return await list_from(_jobs(visit, name, slug), show, limit)


@read(f"{_DRAFT}/jobs/story", Permission.READ_JOBS)
async def show_draft_job(
    visit: Here, name: FromPath[str], slug: FromPath[str],
    job: Annotated[str, QueryParameter(min_length=1, max_length=400)],
) -> JobStory:  # fmt: skip
    """What is known of a job of a draft."""
    return await show_from(_jobs(visit, name, slug), job)


@change(f"{_DRAFT}/jobs/release", Permission.RUN_DRAFT_JOBS, status=200)
async def release_draft_jobs(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[Released, Body()]
) -> ChangedJobs:
    """Run a job of a draft, or all that are held."""
    source, where = _jobs(visit, name, slug), f"{name} {slug}"
    which = data.job or "all"
    return await change_in(visit, where, source, "release", which, job=data.job)


@change(f"{_DRAFT}/jobs/run", Permission.RUN_DRAFT_JOBS, status=200)
async def run_draft_job(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[OneJob, Body()]
) -> ChangedJobs:
    """Run a job of a draft now that is held or waits for a time."""
    source, where = _jobs(visit, name, slug), f"{name} {slug}"
    return await change_in(visit, where, source, "start", data.job, job=data.job)


@change(f"{_DRAFT}/jobs/retry", Permission.RUN_DRAFT_JOBS, status=200)
async def retry_draft_job(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[Retried, Body()]
) -> ChangedJobs:
    """Run a job of a draft again that is dead or held."""
    source, where = _jobs(visit, name, slug), f"{name} {slug}"
    about = {"job": data.job, "from_start": data.from_start}
    return await change_in(visit, where, source, "retry", data.job, **about)


@change(f"{_DRAFT}/jobs/cancel", Permission.RUN_DRAFT_JOBS, status=200)
async def cancel_draft_job(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[OneJob, Body()]
) -> ChangedJobs:
    """End a job of a draft without running it."""
    source, where = _jobs(visit, name, slug), f"{name} {slug}"
    return await change_in(visit, where, source, "cancel", data.job, job=data.job)


@change(f"{_DRAFT}/tasks/run", Permission.RUN_DRAFT_JOBS, status=200)
async def run_draft_task(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[OneTask, Body()]
) -> ChangedJobs:
    """Run a task of a draft now."""
    return await run_task_of(visit, f"{name} {slug}", _jobs(visit, name, slug), data.task)


@change(f"{_DRAFT}/work", Permission.RUN_DRAFT_JOBS, status=200)
async def run_draft_work(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[Wanted, Body()]
) -> Running:
    """Let the jobs and tasks of a draft run by themselves for a time, or until it sleeps."""
    try:
        released = await _jobs(visit, name, slug).run_for(data.seconds)
    except BbopsError as error:
        raise refuse(error) from None
    await visit.note("run draft jobs", object=f"{name} {slug}: {data.seconds:g} s")
    return Running(released)


def _jobs(visit: Visit, name: str, slug: str) -> DraftJobSource:
    drafts = visit.control.status.drafts(name)
    found = drafts.find(slug) if drafts is not None else None
    if drafts is None or found is None:
        raise NotFoundException(f"project '{name}' has no draft '{slug}'")
    return drafts.work(found.slug).jobs


ROUTES = (
    list_draft_jobs, show_draft_job, release_draft_jobs, run_draft_job, retry_draft_job,
    cancel_draft_job, run_draft_task, run_draft_work,
)  # fmt: skip
