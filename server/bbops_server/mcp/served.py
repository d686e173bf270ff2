"""A project of this server as agents find it: who asks, where it is kept, and what they may do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, ParamSpec, Protocol, TypeVar

from bbops.database.schema.place import write_place
from bbops.interfaces.mcp.tool import NextCall, ToolError
from bbops.source.git.revisions import commit_of
from bbops_server.accounts.book import Book
from bbops_server.accounts.features import read_features_off
from bbops_server.accounts.limits import Limit
from bbops_server.accounts.rules import RULES, Caller, Permission, may, role_in
from bbops_server.git_http.reach import Asking
from bbops_server.git_http.repository import Repository, find_repository
from bbops_server.git_http.request import Refusal
from bbops_server.git_http.serving import GitHttp
from bbops_server.mcp.fair_queue import OneAtATime, ask
from bbops_server.process.messages.proposals import Workbench
from bbops_server.publish.projects.protocols import StatusSource
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
"""What whoever asks is told that they may do."""
_BY_KEY: Final = frozenset({"token", "grant"})


class Counting(Protocol):
    """How often something may be asked."""

    work: Limit
    """What takes room in the repository, or minutes of the processor; by person."""
    addon_tests: Limit
    """Tests of addons' connections; by project."""


class Around(Protocol):
    """What the control plane holds, see `bbops_server.control_plane.web.state`."""

    status: StatusSource
    book: Book
    git: GitHttp | None

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        ...

    @property
    def limits(self) -> Counting:
        """How often something may be asked."""
        ...

    @property
    def turns(self) -> OneAtATime:
        """Whose agents' work is under way."""
        ...


@dataclass(frozen=True, slots=True)
class Served:
    """One project, for one caller.

    Attributes:
        address: of whoever asks, for the audit log.
    """

    control: Around
    caller: Caller
    project: str
    address: str = ""

    # ---- who
    def may(self, permission: Permission) -> bool:
        """Return whether whoever asks may do something here."""
        return may(self.caller, permission, self.project)

    async def require(self, permission: Permission, *, head: str = "") -> None:
        """Raises Refused, and writes it down, where whoever asks may not do something.

        Args:
            permission: for it.
            head: a commit; it takes the same of every project of the repository that it changes.
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
        asking = Asking(self.git.build, self.repository(), self.caller, permission)
        return await asking.find_foreign(head)

    def count(self) -> None:
        """Count work that costs much. Raises: Refused: it is too much."""
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
        """Write into the audit log what was done, and by which grant."""
        key = self.caller.key if self.caller.how in _BY_KEY else ""
        await ask(
            self.control.book.audit.add, action, who=self.caller.email, token=key,
            object=f"{self.project} {about}".strip(), address=self.address, outcome=outcome,
        )  # fmt: skip

    # ---- where
    @property
    def git(self) -> GitHttp:
        """The repositories. Raises: Refused: this server keeps none."""
        if self.control.git is None:
            raise ToolError("this server hosts no repositories")
        return self.control.git

    @property
    def loop(self) -> Reconciler:
        """What follows the project. Raises: Refused: there is no such project."""
        found = self.git.projects.reconcilers()
        one = next((one for one in found if one.board.name == self.project), None)
        if one is None:
            raise ToolError(f"there is no project '{self.project}'")
        return one

    def repository(self) -> Repository:
        """Return the repository. Raises: Refused: it is not on this machine."""
        _ = self.loop
        try:
            return find_repository(self.git.projects, self.project)
        except Refusal as refusal:
            raise ToolError(
                refusal.message,
                hint="push a branch there, and open the pull request where it is kept",
            ) from None

    def proposing(self) -> ProposalWorkflow:
        """Return what makes and merges the project's proposals. Raises as `repository`."""
        return self.git.proposing(self.repository())

    def neighbors(self) -> Sequence[RemoteSource]:
        """Return the sources of other projects in the same hosted repository."""
        own = self.loop.source
        others = (each.source for each in self.git.projects.reconcilers())
        return [
            other for other in others
            if other is not own and isinstance(other, RemoteSource)
            and isinstance(own, RemoteSource) and other.address.url == own.address.url
        ]  # fmt: skip

    async def bench(self, *, writes_to_forge: bool = False, trailer: str = "") -> Workbench:
        """Return what the build process needs for work in the repository.

        Args:
            writes_to_forge: whether the work may write into the mirror, for a push to the forge.
            trailer: the last line of commit messages; empty for none.

        Raises:
            Refused: the project comes from no repository.
        """
        one = self.loop
        source, at, elsewhere, taken = one.source, one.context, "", list[str]()
        if isinstance(source, BranchSource):
            followers = self.repository().followers
            taken = [each.source.branch for each in followers if each.name != self.project]
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
            published=commit_of(one.board.applied), elsewhere=elsewhere, url=at.url,
            engine=at.engine, off=tuple(off), database=write_place(at.database),
            trailer=trailer,
        )  # fmt: skip
