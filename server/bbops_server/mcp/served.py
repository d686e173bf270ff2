"""A project of this server as agents find it: permissions, limits and its jobs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, ParamSpec, Protocol, TypeVar

from bbops.base.json_work import AgentCall, AgentRunStory, JobList, JobStory, TestedAddon
from bbops.database.schema.place import write_place
from bbops.interfaces.answers import DraftStatus
from bbops.interfaces.mcp.tool import NextCall, ToolError
from bbops.source.git.revisions import commit_of
from bbops_server.accounts.book import Book
from bbops_server.accounts.features import read_features_off
from bbops_server.accounts.limits import Limit
from bbops_server.accounts.rules import RULES, Caller, Permission, may, role_in
from bbops_server.git_http.backend import Refusal
from bbops_server.git_http.reach import AccessCheck
from bbops_server.git_http.repository import Repository, find_repository
from bbops_server.git_http.serving import GitHttp
from bbops_server.mcp.fair_queue import OneAtATime, ask
from bbops_server.process.messages.agents import ListAgentCalls, ShowAgentRun
from bbops_server.process.messages.api_keys import TryAddon
from bbops_server.process.messages.jobs import ChangeJobs, ListJobs, ShowJob
from bbops_server.process.messages.proposals import Workbench
from bbops_server.publish.drafts.drafts import ProjectDrafts
from bbops_server.publish.processes.project_client import ProjectClient
from bbops_server.publish.projects.projects import ServerProjects
from bbops_server.publish.proposals.workflow import ProposalWorkflow
from bbops_server.publish.sources.remote import RemoteSource
from bbops_server.publish.sources.sources import BranchSource
from bbops_server.publish.stages.loop import Reconciler
from bbops_server.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")

WORDS: Final = {
    "read": Permission.READ_PROJECT, "change": Permission.PUSH_DRAFT,
    "propose": Permission.PROPOSE, "merge": Permission.MERGE,
    "requests": Permission.READ_REQUESTS,
}  # fmt: skip
"""Names of permissions in responses to agents."""
_BY_KEY: Final = frozenset({"token", "grant"})


class WorkLimits(Protocol):
    """Limits of requests."""

    work: Limit
    """Work that takes disk space or minutes of CPU; by person."""
    addon_tests: Limit
    """Tests of addons' connections; by project."""


class ControlPlane(Protocol):
    """The state of the control plane, see `bbops_server.control_plane.web.state`."""

    status: ServerProjects
    book: Book
    git: GitHttp | None

    @property
    def settings(self) -> Settings:
        """The current settings."""
        ...

    @property
    def limits(self) -> WorkLimits:
        """The limits of requests."""
        ...

    @property
    def turns(self) -> OneAtATime:
        """The queue of the work of agents."""
        ...


@dataclass(frozen=True, slots=True)
class Served:
    """A project for a caller.

    Attributes:
        address: of the caller, for the audit log.
    """

    control: ControlPlane
    caller: Caller
    project: str
    address: str = ""

    # ---- permissions
    def may(self, permission: Permission) -> bool:
        """Return whether the caller has a permission here."""
        return may(self.caller, permission, self.project)

    async def require(self, permission: Permission, *, head: str = "") -> None:
        """Check a permission of the caller, and write a refusal into the audit log.

        Args:
            permission: the permission.
            head: a commit, which needs the permission in every project that it changes.

        Raises:
            ToolError: the caller lacks the permission.
        """
        if not self.may(permission):
            if not self.may(Permission.READ_PROJECT):
                raise ToolError(f"there is no project '{self.project}'")
            await self.note(permission, outcome="refused")
            raise self._refusal(permission)
        if head and (why := await self._find_foreign(permission, head)):
            await self.note(permission, outcome="refused")
            raise ToolError(why)

    async def _find_foreign(self, permission: Permission, head: str) -> str:
        check = AccessCheck(self.git.build, self.repository(), self.caller, permission)
        return await check.find_foreign(head)

    def count(self) -> None:
        """Count expensive work. Raises: ToolError: the limit is exceeded."""
        wait = self.control.limits.work.take(self.caller.person or self.caller.how)
        if wait:
            raise ToolError(f"too many requests; try again in {wait} s")

    def _refusal(self, permission: Permission) -> ToolError:
        rule, here = RULES[permission], role_in(self.caller, self.project)
        is_enough = here is not None and rule.role is not None and here.rank >= rule.role.rank
        role = f"the role required is '{rule.role}'"
        why = "your grant lacks the scope for it, ask the user to grant it" if is_enough else role
        call = NextCall("context_get", {}, "see your permissions")
        return ToolError(f"you may not {permission}: {why}", next=(call,))

    async def note(self, action: str, about: str = "", outcome: str = "done") -> None:
        """Write an action and its grant into the audit log."""
        key = self.caller.key if self.caller.how in _BY_KEY else ""
        await ask(
            self.control.book.audit.add, action, who=self.caller.email, token=key,
            object=f"{self.project} {about}".strip(), address=self.address, outcome=outcome,
        )  # fmt: skip

    # ---- parts
    @property
    def git(self) -> GitHttp:
        """The repositories. Raises: ToolError: this server has none."""
        if self.control.git is None:
            raise ToolError("this server hosts no repositories")
        return self.control.git

    @property
    def loop(self) -> Reconciler:
        """The publishing loop of the project. Raises: ToolError: the project does not exist."""
        for reconciler in self.git.projects.reconcilers():
            if reconciler.board.name == self.project:
                return reconciler
        raise ToolError(f"there is no project '{self.project}'")

    def repository(self) -> Repository:
        """Return the repository. Raises: ToolError: it is not on this machine."""
        _ = self.loop
        try:
            return find_repository(self.git.projects, self.project)
        except Refusal as refusal:
            raise ToolError(
                refusal.message,
                hint="push a branch there, and open the pull request where it is kept",
            ) from None

    def proposing(self) -> ProposalWorkflow:
        """Return the workflow of the project's proposals. Raises as `repository`."""
        return self.git.proposing(self.repository())

    def neighbors(self) -> Sequence[RemoteSource]:
        """Return the sources of other projects in the same hosted repository."""
        own = self.loop.source
        others = (reconciler.source for reconciler in self.git.projects.reconcilers())
        return [
            other for other in others
            if other is not own and isinstance(other, RemoteSource)
            and isinstance(own, RemoteSource) and other.address.url == own.address.url
        ]  # fmt: skip

    async def bench(self, *, writes_to_forge: bool = False, trailer: str = "") -> Workbench:
        """Return the parameters of the build process for work in the repository.

        Args:
            writes_to_forge: whether the work may write into the mirror, for a push to the forge.
            trailer: the last line of commit messages; empty for none.

        Raises:
            ToolError: the project does not come from a repository.
        """
        loop = self.loop
        source, at, elsewhere, taken = loop.source, loop.context, "", list[str]()
        if isinstance(source, BranchSource):
            followers = self.repository().followers
            taken = [found.source.branch for found in followers if found.name != self.project]
            repository, branch = source.repository, source.branch
        elif isinstance(source, RemoteSource):
            repository, branch = source.mirror, source.branch
            taken = [neighbor.branch for neighbor in self.neighbors()]
            elsewhere = "" if writes_to_forge else source.shown
        else:
            raise ToolError(
                f"project '{self.project}' is served from a folder, not from a repository",
                hint="'bbops mcp serve --stdio' works in a checkout",
            )
        off = await ask(read_features_off, at.plane.settings)
        return Workbench(
            repository=str(repository), live=branch, folder=at.project.path,
            project=self.project, taken=taken,
            who=(self.caller.name or self.caller.email, self.caller.email),
            published=commit_of(loop.board.applied), elsewhere=elsewhere, url=at.url,
            engine=at.engine, off=tuple(off), database=write_place(at.database),
            trailer=trailer,
        )  # fmt: skip


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
        """Return a job's history. Raises: ToolError: the job does not exist."""
        story = (await self.client.ask(ShowJob, job)).story
        if story is None:
            raise self._refuse(f"there is no job '{job}'")
        return story

    async def change(
        self, action: Literal["retry", "cancel"], job: str, *, from_start: bool = False
    ) -> None:
        """Retry or cancel a job.

        Raises:
            ToolError: the caller lacks permission, the job does not exist, or its state is another.
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


Wake = Callable[[str], Awaitable[tuple[ProjectDrafts, DraftStatus]]]
"""Wakes a draft; returns the drafts of its project, and its status."""


async def test_addon(at: Served, wake: Wake, addon: str, draft: str) -> TestedAddon:
    """Test the connection of a draft's addon, or of the live one if `draft` is empty.

    Raises:
        ToolError: the caller lacks permission, the limit is exceeded, or the project or draft does
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
