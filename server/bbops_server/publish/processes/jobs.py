"""Jobs of one project, which its data processes find in its database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from bbops.base.json_jobs import ChangedJobs, JobList, JobStory, TaskTicks
from bbops_server.process.messages.data.change_jobs import Action, ChangeJobs
from bbops_server.process.messages.data.list_jobs import ListJobs
from bbops_server.process.messages.data.list_ticks import ListTicks
from bbops_server.process.messages.data.run_draft_jobs import RunDraftJobs
from bbops_server.process.messages.data.show_job import ShowJob
from bbops_server.process.messages.request import A, Request
from bbops_server.publish.processes.plane import Plane


async def at_once() -> None:
    """Wait for nothing."""


class ProjectJobs:
    """Asks a data process, or that of a draft; raises BbopsError where nothing is live."""

    def __init__(
        self, plane: Plane, project: str, ready: Callable[[], Awaitable[None]] = at_once
    ) -> None:
        """Args: `ready` returns when the draft is awake."""
        self._plane, self._project, self._ready = plane, project, ready

    async def list(self, state: str, most: int) -> JobList:
        """Return jobs, the oldest first; of those that have ended the last one first."""
        found = await self._ask(ListJobs(self._project, state, most))
        return JobList(found.jobs, found.counts, found.tasks)

    async def ticks(self, task: str, count: int) -> Sequence[TaskTicks]:
        """Return the next ticks of a task, or of all."""
        return (await self._ask(ListTicks(self._project, task, count))).tasks

    async def show(self, job: str) -> JobStory | None:
        """Return what is known of a job."""
        return (await self._ask(ShowJob(self._project, job))).story

    async def change(self, action: Action, **about: Any) -> ChangedJobs:
        """Change jobs; `about` are the fields of `ChangeJobs`."""
        found = await self._ask(ChangeJobs(self._project, action, **about))
        return ChangedJobs(found.count, found.job)

    async def run_for(self, seconds: float) -> int:
        """Let a draft's jobs and tasks run by themselves; return how many were held."""
        return (await self._ask(RunDraftJobs(seconds))).released

    async def _ask(self, request: Request[A]) -> A:
        await self._ready()
        return await self._plane.ask_project(self._project, request)
