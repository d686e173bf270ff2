"""Jobs of one project, which its data processes find in its database."""

from __future__ import annotations

from typing import Any

from bbops.base.json_jobs import ChangedJobs, JobList, JobStory
from bbops_server.process.messages.data.change_jobs import Action, ChangeJobs
from bbops_server.process.messages.data.list_jobs import ListJobs
from bbops_server.process.messages.data.show_job import ShowJob
from bbops_server.publish.processes.plane import Plane


class ProjectJobs:
    """Asks a data process; raises BbopsError where nothing is live."""

    def __init__(self, plane: Plane, project: str) -> None:
        self._plane, self._project = plane, project

    async def list(self, state: str, most: int) -> JobList:
        """Return jobs, the oldest first; of those that have ended the last one first."""
        found = await self._plane.ask_project(self._project, ListJobs(self._project, state, most))
        return JobList(found.jobs, found.counts, found.tasks)

    async def show(self, job: str) -> JobStory | None:
        """Return what is known of a job."""
        return (await self._plane.ask_project(self._project, ShowJob(self._project, job))).story

    async def change(self, action: Action, **about: Any) -> ChangedJobs:
        """Change jobs; `about` are the fields of `ChangeJobs`."""
        asked = ChangeJobs(self._project, action, **about)
        found = await self._plane.ask_project(self._project, asked)
        return ChangedJobs(found.count, found.job)
