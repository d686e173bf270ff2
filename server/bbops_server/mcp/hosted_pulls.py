"""Work of agents in a repository on a forge: drafts are pushed there, and proposed there.

The forge's bot opens and merges pull requests. A trailer names the user that an agent acts for,
whose approval does not count; the commits have that user as their author, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bbops.interfaces.mcp.models import ProposalSummary
from bbops.interfaces.mcp.project_backend import MergeOutcome, ProposalEdit, PullRequestDetail
from bbops.interfaces.mcp.tool import NextCall, ToolError
from bbops_server.accounts.rules import Permission
from bbops_server.forges.hosted import ForgeConflict, ForgeForbidden, ForgeGone, HostedForge
from bbops_server.forges.values import NewPullRequest, PullRequest
from bbops_server.mcp.fair_queue import ask
from bbops_server.mcp.serialization import MOST_FOUND, serialize_diagnostics
from bbops_server.mcp.served import Served
from bbops_server.process.messages.repositories import PushBranch, TakeBranch
from bbops_server.publish.pull_requests.effects import PullEffect, list_merged
from bbops_server.publish.sources.record import read_record
from bbops_server.publish.sources.remote import RemoteSource
from bbops_server.publish.sources.values import is_full_id

if TYPE_CHECKING:
    from bbops_server.publish.pull_requests.following import PullFollower

GIT_SECONDS: Final = 120.0
CHECK_SECONDS: Final = 30.0
"""The time to wait for the plan of a new head."""

TRAILER: Final = "On-behalf-of"


@dataclass(frozen=True, slots=True)
class HostedPulls:
    """The drafts and pull requests of a project on a forge, for one caller."""

    at: Served
    forge: HostedForge
    source: RemoteSource
    pulls: PullFollower

    # ---- drafts
    async def fetch(self, draft: str) -> str:
        """Bring a draft's branch up to date in the mirror; return its commit, empty without one.

        The live branch is left alone: its follower keeps it even after its deletion on the forge.
        """
        if draft == self.source.branch:
            return ""
        request = TakeBranch(
            self.source.address.url, str(self.source.mirror), draft,
            await self.source.find_authorization(),
        )  # fmt: skip
        build = self.at.loop.context.plane.build
        return (await build.ask(request, timeout_seconds=GIT_SECONDS)).commit or ""

    async def push(self, draft: str, commit: str, expected: str) -> None:
        """Push a commit of the mirror to a draft's branch.

        Raises:
            GitError: the branch is not at `expected` any more, or the forge rejects the push.
            ToolError: the user has lost write access on the forge.
        """
        await self._require_access()
        request = PushBranch(
            self.source.address.url, str(self.source.mirror), draft, commit, expected,
            await self.source.find_authorization(),
        )  # fmt: skip
        await self.at.loop.context.plane.build.ask(request, timeout_seconds=GIT_SECONDS)

    # ---- pull requests
    def list(self) -> tuple[ProposalSummary, ...]:
        """Return the open pull requests as they were listed last."""
        return tuple(
            ProposalSummary(
                pull.number, pull.title, pull.branch, "open", pull.author, pull.head,
                not pull.is_draft,
            )
            for pull in self.pulls.status().pulls
        )  # fmt: skip

    async def open(self, draft: str, edit: ProposalEdit) -> PullRequestDetail:
        """Open the pull request of a draft, or return the open one.

        Raises:
            ToolError: the user cannot be named on the forge, though reviews there decide.
            ForgeError: the forge rejects it.
        """
        target = self.source.branch
        pull = await self.forge.find(draft, target)
        if pull is None:
            await self._require_access()
            caller = self.at.caller
            author = f"Proposed by an agent of {caller.name or caller.email}."
            body = "\n\n".join(filter(None, [edit.body, await self.make_trailer() or author]))
            wish = NewPullRequest(draft, target, edit.title, body, is_draft=edit.ready is False)
            pull = await self.forge.open(wish)
            await self.at.note("propose", f"#{pull.number}")
        self.pulls.refresh()
        return await self._describe(pull)

    async def read(self, number: int) -> PullRequestDetail:
        """Return a pull request with the effect of its merge.

        The head of a branch of the repository is fetched into the mirror, so that its changes can
        be read. The commits of a fork are not: a stranger writes them.

        Raises:
            ForgeError: the forge does not return it.
            GitError: the repository cannot be reached.
        """
        pull = await self.forge.get(number)
        if not pull.is_fork:
            ref = self.forge.pull_ref.format(number=number)
            await self.source.fetch_ref(self.at.loop.context.plane.build, ref)
        return await self._describe(pull)

    async def merge(self, number: int, head: str) -> MergeOutcome:
        """Merge a pull request by the forge's rules, if the project lets agents merge."""
        pull = await self.forge.get(number)
        again = NextCall("review_pull_request", {"number": number}, "read the current state")
        if pull.state == "merged":
            return MergeOutcome("merged", (), pull.merged)
        if pull.state == "closed":
            return MergeOutcome("refused", ("it is closed",))
        if pull.target != self.source.branch:
            return MergeOutcome("refused", (f"it is for branch '{pull.target}'",))
        if not is_full_id(head, pull.head):
            message = f"pull request #{number} is {pull.head[:12]} by now, not {head[:12]}"
            raise ToolError(message, next=(again,))
        effect = self.pulls.find_effect(number, pull.head)
        if effect is None:
            return MergeOutcome("waiting", ("its plan is being made: try again in a moment",))
        if obstacles := _obstacles(effect):
            return MergeOutcome("refused", obstacles)
        live = await ask(read_record, self.at.loop.context)
        if await self._is_shared(pull):
            why = f"a person, since it changes files of other projects, too: {pull.url}"
            return MergeOutcome("waiting", (why,))
        by_person = live is None or live.review.get("agents") != "merge"
        if by_person or not self.at.may(Permission.MERGE):
            await self.at.note("merge proposal", f"#{number}", "refused")
            who = "a person" if by_person else "a maintainer"
            return MergeOutcome("waiting", (f"{who}, who merges it: {pull.url}",))
        await self.at.require(Permission.MERGE)
        await self._require_access()
        try:
            commit = await self.forge.merge(number, pull.head)
        except ForgeConflict as error:
            await self.at.note("merge proposal", f"#{number}", "refused")
            return MergeOutcome("waiting", (error.message,))
        await self.at.note("merge proposal", f"#{number}")
        if not commit:
            return MergeOutcome("waiting", (f"the merge queue, which merges it: {pull.url}",))
        self.at.control.status.poll(self.at.project)
        return MergeOutcome("merged", (), commit)

    async def make_trailer(self) -> str:
        """Return the line that names the user of the agent on the forge; empty if unknown.

        It is in the description and in each commit: others can edit a description, and several
        agents can commit to one draft.

        Raises:
            ToolError: reviews on the forge decide, and the user is not known there.
        """
        caller = self.at.caller
        if subject := await self._find_subject():
            login = await self.forge.login_of(subject)
            return f"{TRAILER}: {login} (id {subject})"
        live = await ask(read_record, self.at.loop.context)
        if live is not None and live.review.get("source") == "forge":
            raise ToolError(
                f"{caller.email} is not known on the forge, so their own approval would count",
                hint="the user signs in to this server by the forge once, then try again",
            )
        return ""

    async def _find_subject(self) -> str:
        """Return the id of the agent's user on the forge; empty if it is not known."""
        people, providers = self.at.control.book.people, self.at.control.settings.access.providers
        names = (each.name for each in providers if each.issuer == self.forge.url)
        return await ask(people.find_subject, self.at.caller.email, next(names, ""))

    async def _require_access(self) -> None:
        """Require write access of the user on the forge, if the forge knows the user.

        Raises:
            ToolError: the user may not.
            ForgeError: the forge does not answer.
        """
        if not (subject := await self._find_subject()):
            return
        try:
            may_write = await self.forge.may_write(await self.forge.login_of(subject))
        except ForgeGone:  # the account was deleted
            may_write = False
        except ForgeForbidden:  # only administrators may read that on Gitea
            return
        if not may_write:
            await self.at.note("write to the forge", outcome="refused")
            raise ToolError(
                f"{self.at.caller.email} may not write to '{self.forge.repository}' on the forge",
                hint="an administrator of the repository gives the user write access there",
            )

    async def _is_shared(self, pull: PullRequest) -> bool:
        """Return whether a merge changes files outside of the project, whose rights may differ."""
        folder, others = self.source.path, [each.path for each in self.at.neighbors()]
        newest = await self.source.revision(self.at.loop.context.plane.build)
        if not (folder or any(others)) or newest is None:
            return newest is None
        paths = await ask(
            list_merged, self.source.mirror, newest.source["commit"], pull.head
        )  # fmt: skip
        return paths is None or not all(is_within(path, folder, others) for path in paths)

    async def _describe(self, pull: PullRequest) -> PullRequestDetail:
        if pull.state == "open":
            await self.pulls.changed.wait(
                lambda: self.pulls.find_effect(pull.number, pull.head) is not None, CHECK_SECONDS
            )
        effect = self.pulls.find_effect(pull.number, pull.head)
        status = self.pulls.find(pull.number)
        tests = effect.tests if effect is not None else None
        found = (*effect.diagnostics, *(tests.diagnostics if tests else ())) if effect else ()
        return PullRequestDetail(
            number=pull.number, url=pull.url, title=pull.title, description=pull.body,
            author=pull.author, draft=pull.branch, state=pull.state, head=pull.head,
            has_diff=not pull.is_fork or pull.state == "merged",
            plan=self.pulls.find_plan(pull.number, pull.head),
            result=pull.merged, preview=status.preview if status is not None else "",
            obstacles=_obstacles(effect) if effect is not None and pull.state == "open" else (),
            waits=pull.state == "open", summary=status.plan if status is not None else "",
            tests=tests.summary if tests is not None else "",
            diagnostics=serialize_diagnostics(found[:MOST_FOUND]), ready=not pull.is_draft,
        )  # fmt: skip


def is_within(path: str, folder: str, others: Sequence[str]) -> bool:
    """Return whether a path is in a project's folder, and in none of other projects below it."""
    inner = [other for other in others if other and not f"{folder}/".startswith(f"{other}/")]
    is_own = not folder or path.startswith(f"{folder}/")
    return is_own and not any(path.startswith(f"{other}/") for other in inner)


def _obstacles(effect: PullEffect) -> tuple[str, ...]:
    """Return why a merge would not go live."""
    reasons = [effect.problem] if effect.problem else []
    if effect.conflicts:
        reasons.append(f"it conflicts in {', '.join(effect.conflicts[:5])}")
    if effect.errors:
        reasons.append("it has errors")
    if effect.is_gated and effect.tests is not None and effect.tests.blocks_merge:
        reasons.append(effect.tests.summary)
    return (*reasons, *effect.refused)
