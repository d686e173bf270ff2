"""The page of tasks and jobs, with the operations of `bbops jobs` and `bbops tasks`."""

from __future__ import annotations

from typing import Annotated, Any, Final, get_args

from litestar import Response
from litestar.exceptions import ClientException
from litestar.params import FromPath, QueryParameter

from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.projects.jobs import (
    State,
    change_jobs,
    find_jobs,
    find_story,
    start_task,
)
from bbops_server.control_plane.projects.visited_project import VisitedProject
from bbops_server.control_plane.web.frame import Panel
from bbops_server.control_plane.web.outline_page import OutlineLinks
from bbops_server.control_plane.web.routes import form, page, require_permission
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.process.messages.jobs import Action, ListTicks

MAX_SHOWN: Final = 100
_PERMISSIONS: Final[dict[Action, Permission]] = {
    "start": Permission.RETRY_JOBS, "retry": Permission.RETRY_JOBS,
    "cancel": Permission.RETRY_JOBS, "hold": Permission.MANAGE_JOBS,
    "release": Permission.MANAGE_JOBS, "run": Permission.MANAGE_JOBS,
}  # fmt: skip
"""Permissions for live jobs; in a draft each of them is `RUN_DRAFT_JOBS`."""
_NOTICES: Final = {
    "start": "The job runs now.", "retry": "The job is retried.", "cancel": "The job was canceled.",
    "hold": "All waiting jobs are held.", "release": "Held jobs were released.",
    "run": "The task runs now.",
}  # fmt: skip


@page("/projects/{name:str}/jobs", Permission.READ_JOBS)
async def show_jobs(
    visit: Here, name: FromPath[str],
    show: Annotated[str, QueryParameter(name="state", max_length=20)] = "",
    done: Annotated[str, QueryParameter(max_length=20)] = "",
) -> Response[Any]:  # fmt: skip
    """Show the tasks with their next ticks, and jobs by state."""
    project = VisitedProject.open_target(visit, name)
    found = await find_jobs(project, show if show in get_args(State) else "", MAX_SHOWN)
    ticks = (await project.ask(ListTicks, "", 1)).tasks
    return visit.page(
        "jobs", project=name, jobs=found.jobs, counts=found.counts, tasks=ticks, state=show,
        can=_find_actions(visit, project, name), notice=_NOTICES.get(done, ""),
        target=project.draft, most=MAX_SHOWN,
    )  # fmt: skip


@page("/projects/{name:str}/jobs/job", Permission.READ_JOBS)
async def show_job(
    visit: Here, name: FromPath[str],
    job_name: Annotated[str, QueryParameter(name="name", max_length=400)] = "",
) -> Response[Any]:  # fmt: skip
    """Show a job: its payload, cause, attempts and steps."""
    project = VisitedProject.open_target(visit, name)
    story = await find_story(project, job_name)
    can = _find_actions(visit, project, name)
    return visit.page(
        "job", project=name, story=story, job=story.job, can=can, target=project.draft
    )


@form("/projects/{name:str}/jobs", Permission.RUN_DRAFT_JOBS)
async def change_by_page(visit: Here, name: FromPath[str]) -> Response[Any]:
    """Run, retry, cancel, hold or release jobs, or run a task."""
    action, job = await visit.field("action"), await visit.field("job")
    if action not in _PERMISSIONS:
        raise ClientException(f"there is no action '{action[:20]}'")
    if not job and action not in {"hold", "release"}:
        raise ClientException("a job or a task is required")
    project = VisitedProject.open_target(visit, name)
    if project.is_live:
        await require_permission(visit, _PERMISSIONS[action], name)
    if action == "run":
        await start_task(project, job)
    else:
        await change_jobs(project, action, job)
    return visit.go(OutlineLinks(name, project.draft).to("jobs", done=action))


def _find_actions(visit: Visit, project: VisitedProject, name: str) -> frozenset[Action]:
    """Return the actions that the caller may perform here."""
    if not project.is_live:
        is_allowed = visit.may(Permission.RUN_DRAFT_JOBS, name)
        return frozenset(get_args(Action)) - {"hold"} if is_allowed else frozenset()
    return frozenset(
        action for action, permission in _PERMISSIONS.items() if visit.may(permission, name)
    )


PANEL = Panel(
    "Run", 20, "Tasks and jobs", "clock", "/jobs", Permission.READ_JOBS, in_drafts=True,
    actions=(
        ("Run a task", Permission.RUN_DRAFT_JOBS),
        ("Retry a dead job", Permission.RETRY_JOBS),
    ),
)  # fmt: skip
ROUTES = (show_jobs, show_job, change_by_page)
