"""The jobs of a project, or of a draft, for one caller: seen and changed by rule, on record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bbops.base.json_jobs import JobList, JobStory
from bbops.interfaces.mcp.tool import Call, Refused
from bbops_server.accounts.rules import Permission
from bbops_server.mcp.served import Served
from bbops_server.publish.projects.protocols import JobSource


@dataclass(frozen=True, slots=True)
class ServedJobs:
    """The `bbops.interfaces.mcp.project_backend.JobBackend` of a project that is served.

    Attributes:
        draft: the branch; empty for what is live.
    """

    at: Served
    source: JobSource
    draft: str = ""

    async def list(self, state: str, most: int) -> JobList:
        """Return jobs."""
        return await self.source.list(state, most)

    async def show(self, job: str) -> JobStory:
        """Return what is known of a job. Raises: Refused: nothing is."""
        found = await self.source.show(job)
        if found is None:
            raise self._refuse(f"there is no job '{job}'")
        return found

    async def change(
        self, action: Literal["retry", "cancel"], job: str, *, from_start: bool = False
    ) -> None:
        """Retry or cancel a job. Raises: Refused: it cannot be, or whoever asks may not."""
        await self.at.require(Permission.RUN_DRAFT_JOBS if self.draft else Permission.RETRY_JOBS)
        self.at.count()
        about = {"from_start": from_start} if action == "retry" else {}
        found = await self.source.change(action, job=job, **about)
        await self.at.note(f"{action} jobs", f"{self.draft} {job}: {found.count}".strip())
        if not found.count:
            raise self._refuse(f"there is nothing to {action}: '{job}' has ended or is running")

    def _refuse(self, message: str) -> Refused:
        of = {"draft": self.draft} if self.draft else {}
        return Refused(message, next=(Call("work_list", of, "see the jobs and their states"),))
