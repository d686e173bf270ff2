"""A project's proposals as a visitor uses them, for the API and the pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from litestar.exceptions import ClientException, NotFoundException, PermissionDeniedException

from bbops.base.errors import BbopsError
from bbops.source.git.proposals import Proposal, State, Verdict, Wish
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.visit import Visit
from bbops_server.git_http.backend import Refusal
from bbops_server.git_http.publishing import Waiting
from bbops_server.git_http.reach import AccessCheck
from bbops_server.git_http.repository import Repository, find_repository, knows, show_to
from bbops_server.publish.proposals.merge_status import MergeStatus
from bbops_server.publish.proposals.rules import explain_approval
from bbops_server.publish.proposals.workflow import ProposalWorkflow

MAX_TEXT: Final = 10_000
_ACTIONS: Final = {"approved": "approve", "refused": "refuse", "commented": "comment on"}


class VisitedProposals:
    """Proposals of a project, with the permissions of the visitor."""

    def __init__(self, visit: Visit, name: str) -> None:
        """Raises: NotFoundException: the project does not exist, or has a remote repository."""
        git = visit.control.git
        if git is None:
            raise NotFoundException("this server hosts no repositories")
        if not knows(git.projects, name):
            raise NotFoundException(f"there is no project '{name}'")
        try:
            self._repository: Repository = find_repository(git.projects, name)
        except Refusal as refusal:
            raise NotFoundException(refusal.message) from None
        self._visit, self.name, self._git = visit, name, git
        self.control: ProposalWorkflow = git.proposing(self._repository)

    async def list_all(self, state: State | None) -> Sequence[Proposal]:
        """Return proposals without their reviews, newest first."""
        return await self._visit.control.run(self.control.forge.list, state)

    async def find(self, number: int) -> tuple[Proposal, MergeStatus]:
        """Return a proposal, and the part of its merge status that the visitor may read.

        Raises:
            NotFoundException: it does not exist.
        """
        await self._get(number)
        proposal, merge_status = await self.control.find_status(number)
        return proposal, show_to(merge_status, self._repository, self._visit.caller)

    async def explain_approval(self, proposal: Proposal, merge_status: MergeStatus) -> str:
        """Return whether the visitor's approval counts; empty if the visitor cannot give one."""
        may_approve = self._visit.may(Permission.REVIEW, self.name)
        if proposal.state != "open" or not may_approve:
            return ""
        others = [name for name in merge_status.shares if name != self.name]
        eligible = await self._visit.control.run(self.control.forge.eligible, others)
        who, demands = self._visit.caller.email, merge_status.demands
        return explain_approval(who, proposal, demands, merge_status.voices, eligible)

    async def compare(self, merge_status: MergeStatus) -> str:
        """Return a proposal's differences in the files that the visitor may read."""
        paths = self._repository.visible(self._visit.caller)
        return await self.control.compare(merge_status, paths)

    async def open(self, branch: str, title: str, description: str, **more: Any) -> Proposal:
        """Propose the commit of a branch; arguments as of `propose`.

        Raises:
            ClientException: the branch does not exist, or is the live branch.
        """
        try:
            head = await self._visit.control.run(self.control.forge.resolve, branch)
        except BbopsError as error:
            raise refuse(error) from None
        return await self.propose(head, branch, title, description, **more)

    async def propose(
        self, head: str, topic: str, title: str = "", description: str = "", **more: Any
    ) -> Proposal:
        """Propose a commit, with or without a branch; `more` may be `ready` and `reviewers`.

        Raises:
            ClientException: the live branch includes it, there are too many proposals, or
                a reviewer may not review it.
        """
        await self._require(Permission.PROPOSE, head)
        target = next(
            follower.source.branch
            for follower in self._repository.followers
            if follower.name == self.name
        )
        wish = Wish(head, target, topic, self._visit.caller.email, title, description, **more)
        try:
            proposal = await self.control.open(wish)
        except BbopsError as error:
            raise refuse(error) from None
        await self._note("propose", proposal.number)
        return proposal

    async def mark(
        self, number: int, *, ready: bool | None = None, reviewers: Sequence[str] | None = None
    ) -> Proposal:
        """Mark a proposal as ready or not, or set its reviewers; None keeps a value.

        Raises:
            ClientException: it is not open, or a reviewer may not review it.
            PermissionDeniedException: the visitor is neither its author nor a maintainer.
        """
        proposal = await self._get(number)
        await self._require(Permission.PROPOSE, proposal.head)
        if ready is not None and not self._may_decide(proposal):
            raise PermissionDeniedException("only its author or a maintainer can mark it as ready")
        try:
            marked = await self._visit.control.run(
                self.control.forge.mark, number, self._visit.caller.email, ready=ready,
                reviewers=reviewers,
            )  # fmt: skip
        except BbopsError as error:
            raise refuse(error) from None
        await self._note("mark proposal", number)
        return marked

    def _may_decide(self, proposal: Proposal) -> bool:
        """Return whether the visitor is its author, or a maintainer."""
        is_own = proposal.author == self._visit.caller.email
        return is_own or self._visit.may(Permission.MERGE, self.name)

    async def review(self, number: int, verdict: Verdict, text: str, plan: str = "") -> Proposal:
        """Review a proposal as it is now, or comment on it.

        Args:
            number: the number of the proposal.
            verdict: the result of the review.
            text: a comment.
            plan: the digest of the reviewed plan; empty for the current plan.

        Raises:
            ClientException: it is not open, or its plan has changed.
        """
        proposal, merge_status = await self.find(number)
        await self._require(Permission.REVIEW, proposal.head)
        if proposal.state != "open" and verdict != "commented":
            raise ClientException(f"proposal #{number} is {proposal.state}", status_code=409)
        if plan and plan != merge_status.demands.digest:
            raise ClientException(
                f"proposal #{number} has changed since you reviewed it; review it again",
                status_code=409,
            )
        comment = text.strip()[:MAX_TEXT]
        try:
            reviewed = await self._visit.control.run(
                self.control.forge.review, number, self._visit.caller.email, verdict, comment,
                merge_status.demands.digest,
            )  # fmt: skip
        except BbopsError as error:
            raise refuse(error) from None
        await self._note(f"{_ACTIONS[verdict]} proposal", number)
        return reviewed

    async def merge(self, number: int, head: str = "") -> tuple[Proposal, list[str], bool]:
        """Merge a proposal; return it, lines about the publication, and whether it is live.

        Raises:
            ClientException: a requirement blocks the merge.
        """
        proposal, caller = await self._get(number), self._visit.caller
        await self._require(Permission.MERGE, proposal.head)
        try:
            merged = await self.control.merge(
                number, caller.email, head=head or proposal.head, by_agent=caller.how == "grant"
            )
        except BbopsError as error:
            await self._note("merge proposal", number, "refused")
            raise refuse(error) from None
        await self._note("merge proposal", number)
        return merged, *await self._wait(merged)

    async def require_unreviewed(self, commit: str, base: str) -> None:
        """Require that a commit on top of `base` may go live now, and that the visitor may push it.

        Raises:
            PermissionDeniedException: it changes files of a project without the permission.
            BbopsError: it would not go live, or would relax the rules of review.
        """
        await self._require(Permission.ROLL_BACK, commit)
        await self.control.require_unreviewed(commit, base)

    async def close(self, number: int) -> Proposal:
        """Close a proposal, as its author or as a maintainer.

        Raises:
            PermissionDeniedException: the visitor is neither its author nor a maintainer.
        """
        proposal = await self._get(number)
        await self._require(Permission.REVIEW, proposal.head)
        if not self._may_decide(proposal):
            raise PermissionDeniedException("only its author or a maintainer can close a proposal")
        try:
            closed = await self._visit.control.run(
                self.control.forge.close, number, self._visit.caller.email
            )
        except BbopsError as error:
            raise refuse(error) from None
        await self._note("close proposal", number)
        return closed

    async def _get(self, number: int) -> Proposal:
        try:
            return await self.control.get(number)
        except BbopsError as error:
            raise NotFoundException(error.message) from None

    async def _wait(self, proposal: Proposal) -> tuple[list[str], bool]:
        """Wait until a merge is live or stalled."""
        lines, is_live = list[str](), True

        async def report(text: str) -> None:
            lines.append(text)

        for project in self._repository.of_branch(proposal.target):
            is_live = await Waiting(project.reconciler, proposal.merged, report).run() and is_live
        return lines, is_live

    async def _require(self, permission: Permission, head: str) -> None:
        """Require a permission in every project of the repository that a commit changes."""
        check = AccessCheck(self._git.build, self._repository, self._visit.caller, permission)
        try:
            reason = await check.find_foreign(head)
        except BbopsError as error:
            raise refuse(error) from None
        if reason:
            raise PermissionDeniedException(reason)

    async def _note(self, action: str, number: int, outcome: str = "done") -> None:
        await self._visit.note(action, object=f"{self.name} #{number}", outcome=outcome)
