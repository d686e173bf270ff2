"""Open, check and merge the proposals of one project."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bbops.base.errors import GitError, ServerError
from bbops.source.git.proposals import PREVIEW, Proposal, Wish
from bbops_server.publish.drafts.drafts import ProjectDrafts
from bbops_server.publish.impact.impact import TEST_SECONDS
from bbops_server.publish.proposals.merge_status import MergeChecker, MergeStatus, encode, end, read
from bbops_server.publish.proposals.rules import find_missing_person
from bbops_server.publish.sources.values import is_full_id

if TYPE_CHECKING:
    from bbops_server.publish.proposals.local import LocalForge


def propose(forge: LocalForge, wish: Wish, *, is_forced: bool = False) -> tuple[Proposal, str]:
    """Open a proposal, or update the open one of the same author and topic; blocks.

    Another author's proposal is updated if its topic is a branch with the commit: a user who may
    push to the branch may change its proposal.

    Returns:
        The proposal, and the previously proposed commit; empty for a new proposal.

    Raises:
        GitError: the target has the commit already; or previously proposed commits would be lost,
            without `is_forced`.
        BbopsError: too many proposals are open.
    """
    if forge.holds(wish.target, wish.head):
        raise GitError(f"nothing to propose: '{wish.target}' holds {wish.head[:12]} already")
    known = forge.find(wish)
    if known is None and (known := forge.find_shared(wish)) is not None:
        wish = replace(wish, ready=None, reviewers=wish.reviewers or None)
    if known is None:
        return forge.open(wish), ""
    if not is_forced and not forge.follows(known.head, wish.head):
        raise GitError(
            f"proposal #{known.number} holds commits that this does not; to replace them, push"
            " with -o force"
        )
    return forge.update(known.number, wish), known.head


class ProposalWorkflow:
    """Opens, checks and merges the proposals of one project."""

    def __init__(
        self, forge: LocalForge, checker: MergeChecker, link: Callable[[str], str],
        drafts: ProjectDrafts | None = None,
    ) -> None:  # fmt: skip
        """`link` returns the URL of a path of the control plane."""
        self.forge, self._checker, self._link, self._drafts = forge, checker, link, drafts

    def page(self, number: int) -> str:
        """Return the URL of a proposal's page."""
        return self._link(f"/projects/{self.forge.project}/proposals/{number}")

    def preview_branch(self, number: int) -> str:
        """Return the branch of a proposal's draft."""
        return f"{PREVIEW}{number}"

    def prepare_preview(self, number: int) -> None:
        """Create a proposal's draft before its first request."""
        if self._drafts is not None:
            self._drafts.prepare(self.preview_branch(number))

    async def open(self, wish: Wish) -> Proposal:
        """Propose a commit of the repository. Raises as `propose`, also if it is live."""
        made, _ = await asyncio.to_thread(propose, self.forge, wish, is_forced=True)
        self.prepare_preview(made.number)
        await self.find_status(made.number)
        return made

    async def get(self, number: int) -> Proposal:
        """Return a proposal. Raises: ServerError: it does not exist."""
        proposal = await asyncio.to_thread(self.forge.get, number)
        if proposal is None:
            raise ServerError(f"project '{self.forge.project}' has no proposal #{number}")
        return proposal

    async def find_status(
        self, number: int, *, wait_seconds: float = 0.0
    ) -> tuple[Proposal, MergeStatus]:
        """Return a proposal with its merge status, which is the last one before its end.

        The first call for a commit starts its tests.

        Args:
            number: the number of the proposal.
            wait_seconds: the time to wait for its tests.
        """
        proposal = await self.get(number)
        if proposal.state == "open":
            merge_status = await self._checker.check(
                proposal, self.forge.eligible, wait_seconds=wait_seconds
            )
            proposal = await self.get(number)  # the check may find that it is merged
            if proposal.state == "open":
                await asyncio.to_thread(self.forge.keep, number, encode(merge_status))
                return proposal, merge_status
        return proposal, await self._recall(proposal)

    async def _recall(self, proposal: Proposal) -> MergeStatus:
        """Return the stored status of an ended proposal, and update its test results."""
        stored = read(await asyncio.to_thread(self.forge.kept, proposal.number))
        current = self._checker.recall(proposal, stored)
        if current != stored:
            await asyncio.to_thread(self.forge.keep, proposal.number, encode(current))
        return end(proposal, current)

    async def compare(self, merge_status: MergeStatus, paths: Sequence[str] = ()) -> str:
        """Return the diff of a proposal; empty if it cannot be merged or read.

        Args:
            merge_status: the proposal's merge status.
            paths: pathspecs of the files to show; empty for all.
        """
        candidate = merge_status.candidate
        if candidate is None or not candidate.commit:
            return ""
        try:
            return await asyncio.to_thread(
                self.forge.compare, candidate.base, candidate.commit, paths
            )
        except GitError:  # the repository was replaced
            return ""

    async def require_unreviewed(self, commit: str, base: str) -> None:
        """Require that a commit on top of `base` may go live without a review.

        Raises:
            ServerError: it would not go live, or would relax the rules of review.
            BbopsError: the repository or the data cannot be read.
        """
        if refused := await self._checker.check_unreviewed(commit, base):
            raise ServerError("; ".join(refused))

    async def merge(
        self, number: int, who: str, *, head: str = "", by_agent: bool = False
    ) -> Proposal:
        """Merge a proposal into its target branch; it goes live afterwards.

        Args:
            number: the number of the proposal.
            who: the user who merges it.
            head: the full id of the reviewed commit; empty for the newest one.
            by_agent: whether an agent merges it for the user.

        Raises:
            ServerError: a requirement blocks the merge, or `head` is shortened.
            GitError: the branch has moved in the meantime, or its files have changes.
        """
        proposal, merge_status = await self.find_status(number)
        if merge_status.waits_for_tests and not merge_status.obstacles:
            proposal, merge_status = await self.find_status(number, wait_seconds=TEST_SECONDS)
        if proposal.state != "open":
            raise ServerError(f"proposal #{number} is {proposal.state}")
        if head and not is_full_id(head, proposal.head):
            raise ServerError(
                f"proposal #{number} is {proposal.head[:12]} by now, not {head[:12]}",
                hint="review it again",
            )
        if merge_status.obstacles or merge_status.candidate is None:
            raise ServerError(
                f"proposal #{number} cannot be merged: {'; '.join(merge_status.obstacles)}"
            )
        if by_agent and (why := find_missing_person(merge_status.demands)):
            raise ServerError(f"proposal #{number} cannot be merged by an agent: {why}")
        if merge_status.waits_for_tests:
            raise ServerError(
                f"the tests of proposal #{number} still run", hint="merge it when they are over"
            )
        await self._checker.approve_losses(merge_status, who)
        return await asyncio.to_thread(self.forge.merge, number, merge_status.candidate, who)
