"""Jobs and runs of a project or draft for an agent: permissions, limits and the audit log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from bbops.base.json_work import AgentCall, AgentRunStory, JobList, JobStory, TestedAddon
from bbops.interfaces.answers import DraftStatus
from bbops.interfaces.mcp.tool import NextCall, ToolError
from bbops_server.accounts.rules import Permission
from bbops_server.mcp.served import Served
from bbops_server.process.messages.agents import ListAgentCalls, ShowAgentRun
from bbops_server.process.messages.api_keys import TryAddon
from bbops_server.process.messages.jobs import ChangeJobs, ListJobs, ShowJob
from bbops_server.publish.processes.project_client import ProjectClient
from bbops_server.publish.projects.protocols import DraftSource


@dataclass(frozen=True, slots=True)
class ServedJobs:
    """The `bbops.interfaces.mcp.project_backend.JobBackend` of a server.

    Attributes:
        draft: the branch; empty for the live project.
    """

    at: Served
    client: ProjectClient
    draft: str = ""

    async def list(self, state: str, most: int) -> JobList:
        """Return jobs."""
        found = await self.client.ask(ListJobs, state, most)
        return JobList(found.jobs, found.counts, found.tasks)

    async def show(self, job: str) -> JobStory:
        """Return a job's history. Raises: Refused: the job does not exist."""
        story = (await self.client.ask(ShowJob, job)).story
        if story is None:
            raise self._refuse(f"there is no job '{job}'")
        return story

    async def change(
        self, action: Literal["retry", "cancel"], job: str, *, from_start: bool = False
    ) -> None:
        """Retry or cancel a job.

        Raises:
            Refused: the caller lacks permission, the job does not exist, or its state is another.
        """
        await self.at.require(Permission.RUN_DRAFT_JOBS if self.draft else Permission.RETRY_JOBS)
        self.at.count()
        restart = from_start and action == "retry"
        changed = await self.client.ask(ChangeJobs, action, job, from_start=restart)
        await self.at.note(f"{action} jobs", f"{self.draft} {job}: {changed.count}".strip())
        if not changed.count:
            state = (await self.show(job)).job.state
            raise self._refuse(f"there is nothing to {action}: '{job}' is {state}")

    async def list_calls(self, limit: int) -> Sequence[AgentCall]:
        """Return calls of agents that wait for an approval, oldest first."""
        return (await self.client.ask(ListAgentCalls, "", limit)).calls

    async def find_run(self, job: str) -> AgentRunStory | None:
        """Return the run of an agent's job; None before it begins."""
        return (await self.client.ask(ShowAgentRun, job)).story

    def _refuse(self, message: str) -> ToolError:
        arguments = {"draft": self.draft} if self.draft else {}
        call = NextCall("work_list", arguments, "see the jobs and their states")
        return ToolError(message, next=(call,))


# ---- Connection tests of addons for an agent: permissions, limits and the audit log

Wake = Callable[[str], Awaitable[tuple[DraftSource, DraftStatus]]]
"""Wakes a draft; returns the drafts of its project, and its status."""


async def test_addon(at: Served, wake: Wake, addon: str, draft: str) -> TestedAddon:
    """Test the connection of a draft's addon, or of the live one if `draft` is empty.

    Raises:
        Refused: the caller lacks permission, the limit is exceeded, or the project or draft does
            not exist.
    """
    await at.require(Permission.TEST_ADDONS)
    wait = at.control.limits.addon_tests.take(at.project)
    if wait:
        raise ToolError(f"too many tests of addons; try again in {wait} s")
    client = at.control.status.client(at.project)
    if draft:
        drafts, status = await wake(draft)
        client, draft = drafts.client(status.slug), status.slug
    if client is None:
        raise ToolError(f"there is no project '{at.project}'")
    result = await client.ask(TryAddon, addon)
    await at.note("test addon", f"{draft} {addon}".strip() + f": {result.state}")
    return TestedAddon(addon, result.state, result.text)
