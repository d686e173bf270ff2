"""Jobs and tasks of a project or draft."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from litestar.exceptions import HTTPException
from litestar.params import Body, FromPath, QueryParameter

from bbops.base.errors import ServerError
from bbops.base.json_work import ChangedJobs, JobList, JobStory, TaskTicks
from bbops.runtime.agents.values import AGENTS, work_name
from bbops.runtime.work.schedules import MAX_TICKS
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.visited_project import (
    DRAFT,
    PROJECT,
    Visited,
    VisitedProject,
    change_both,
    read_both,
)
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here
from bbops_server.process.messages.jobs import (
    Action,
    ChangeJobs,
    ListJobs,
    ListTicks,
    RunDraftJobs,
    ShowJob,
)

_NAME: Final = msgspec.Meta(min_length=1, max_length=400)
_MAX_SECONDS: Final = 86_400
State = Literal["", "ready", "blocked", "later", "running", "held", "dead", "ended"]
"""A state to filter by; empty for all jobs that have not ended."""

Name = Annotated[str, QueryParameter(min_length=1, max_length=400)]
Limit = Annotated[int, QueryParameter(ge=1, le=1_000)]


class OneJob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name of a job, such as `triggers/order-paid@17`."""

    job: Annotated[str, _NAME]


class RetryRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name of a job; `fromStart` discards its recorded steps."""

    job: Annotated[str, _NAME]
    from_start: bool = msgspec.field(default=False, name="fromStart")


class ReleaseRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A held job, all jobs that a restore has held, or all held jobs."""

    job: Annotated[str, msgspec.Meta(max_length=400)] = ""
    restored: bool = False


class OneTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name of a task: the path of its file below `tasks/`."""

    task: Annotated[str, _NAME]


class WorkPeriod(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The time for which jobs and tasks of a draft run on their own; 0 stops them."""

    seconds: Annotated[float, msgspec.Meta(ge=0, le=_MAX_SECONDS)]


class ReleasedJobs(msgspec.Struct, frozen=True):
    """The number of held jobs that run now."""

    released: int


@read_both("/jobs", Permission.READ_JOBS)
async def list_jobs(
    project: Visited, show: Annotated[State, QueryParameter()] = "", limit: Limit = 100
) -> JobList:  # fmt: skip
    """Jobs by state, oldest first, and the next ticks. By default, all jobs that have not ended."""
    return await find_jobs(project, show, limit)


@read_both("/jobs/story", Permission.READ_JOBS)
async def show_job(project: Visited, job: Name) -> JobStory:
    """A job's payload, cause, attempts and steps."""
    return await find_story(project, job)


@change_both("/jobs/run", Permission.RETRY_JOBS, Permission.RUN_DRAFT_JOBS)
async def run_job(project: Visited, data: Annotated[OneJob, Body()]) -> ChangedJobs:
    """Run a held or delayed job now."""
    return await change_jobs(project, "start", data.job)


@change_both("/jobs/retry", Permission.RETRY_JOBS, Permission.RUN_DRAFT_JOBS)
async def retry_job(project: Visited, data: Annotated[RetryRequest, Body()]) -> ChangedJobs:
    """Run a dead, held or delayed job now."""
    return await change_jobs(project, "retry", data.job, from_start=data.from_start)


@change_both("/jobs/cancel", Permission.RETRY_JOBS, Permission.RUN_DRAFT_JOBS)
async def cancel_job(project: Visited, data: Annotated[OneJob, Body()]) -> ChangedJobs:
    """End a job without running it; a running job ends at its next step."""
    return await change_jobs(project, "cancel", data.job)


@change(f"{PROJECT}/jobs/hold", Permission.MANAGE_JOBS, status=200)
async def hold_jobs(visit: Here, name: FromPath[str]) -> ChangedJobs:
    """Hold all waiting jobs until they are released. Running jobs continue."""
    return await change_jobs(VisitedProject.open(visit, name), "hold")


@change_both("/jobs/release", Permission.MANAGE_JOBS, Permission.RUN_DRAFT_JOBS)
async def release_jobs(project: Visited, data: Annotated[ReleaseRequest, Body()]) -> ChangedJobs:
    """Release held jobs."""
    return await change_jobs(project, "release", data.job, restored=data.restored)


@read(f"{PROJECT}/tasks/next", Permission.READ_JOBS)
async def list_ticks(
    visit: Here, name: FromPath[str],
    task: Annotated[str, QueryParameter(max_length=400)] = "",
    count: Annotated[int, QueryParameter(ge=1, le=MAX_TICKS)] = 5,
) -> list[TaskTicks]:  # fmt: skip
    """The next ticks of a task, or of all live tasks."""
    project = VisitedProject.open(visit, name)
    tasks = (await project.ask(ListTicks, _task_name(task) if task else "", count)).tasks
    if task and not tasks:
        raise _missing_task(task)
    return tasks


@change_both("/tasks/run", Permission.MANAGE_JOBS, Permission.RUN_DRAFT_JOBS)
async def run_task(project: Visited, data: Annotated[OneTask, Body()]) -> ChangedJobs:
    """Run a task now, beside its schedule."""
    return await start_task(project, data.task)


@change(f"{DRAFT}/work", Permission.RUN_DRAFT_JOBS, status=200)
async def run_draft_work(
    visit: Here, name: FromPath[str], slug: FromPath[str], data: Annotated[WorkPeriod, Body()]
) -> ReleasedJobs:
    """Run the jobs and tasks of a draft on their own for a time, or until it sleeps."""
    draft = VisitedProject.open_draft(visit, name, slug)
    running = await draft.ask(RunDraftJobs, data.seconds)
    await draft.visit.note("run draft jobs", object=f"{draft.label}: {data.seconds:g} s")
    return ReleasedJobs(running.released)


async def find_jobs(project: VisitedProject, state: str, limit: int) -> JobList:
    """Return jobs by state, the number of jobs in each state, and the next ticks."""
    answer = await project.ask(ListJobs, state, limit)
    return JobList(answer.jobs, answer.counts, answer.tasks)


async def find_story(project: VisitedProject, job: str) -> JobStory:
    """Return a job's history. Raises: HTTPException: the job does not exist."""
    story = (await project.ask(ShowJob, job)).story
    if story is None:
        hint = "'bbops jobs list' shows those there are, '--state ended' those that have ended"
        raise refuse(ServerError(f"there is no job '{job}'", hint=hint), 404)
    return story


async def change_jobs(
    project: VisitedProject, action: Action, job: str = "", *,
    restored: bool = False, from_start: bool = False,
) -> ChangedJobs:  # fmt: skip
    """Change one job, or all jobs, and write the audit log.

    Raises:
        HTTPException: the job does not exist.
    """
    changed = await project.ask(ChangeJobs, action, job, restored, from_start)
    jobs = job or ("restored" if restored else "all")
    await project.note(f"{action} jobs", f"{jobs}: {changed.count}")
    if changed.count or not job or action == "run":
        return ChangedJobs(changed.count, changed.job)
    return ChangedJobs(0, changed.job, (await find_story(project, job)).job.state)


async def start_task(project: VisitedProject, name: str) -> ChangedJobs:
    """Run a task now. Raises: HTTPException: the task does not exist, or is disabled."""
    changed = await change_jobs(project, "run", _task_name(name))
    if not changed.count:
        raise _missing_task(name)
    return changed


def _task_name(given: str) -> str:
    if given.startswith(AGENTS):
        return given if given.count("/") > 1 else work_name(given.removeprefix(AGENTS), "schedule")
    return f"tasks/{given.removeprefix('tasks/').removesuffix('.yaml')}"


def _missing_task(given: str) -> HTTPException:
    hint = "'bbops tasks list' shows those that are live and enabled"
    return refuse(ServerError(f"the project has no task '{given}'", hint=hint), 404)


ROUTES = (
    *list_jobs, *show_job, *run_job, *retry_job, *cancel_job, hold_jobs, *release_jobs, list_ticks,
    *run_task, run_draft_work,
)  # fmt: skip
