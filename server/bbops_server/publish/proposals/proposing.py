"""Open, look at and merge the proposals of one project."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bbops.base.errors import GitError, ServerError
from bbops.source.git.proposals import PREVIEW, Proposal, Wish
from bbops_server.publish.projects.protocols import DraftSource
from bbops_server.publish.proposals.merge_status import Bench, MergeStatus
from bbops_server.publish.proposals.proposal_tests import TEST_SECONDS
from bbops_server.publish.proposals.rules import find_missing_person
from bbops_server.publish.proposals.snapshots import encode, end, read

if TYPE_CHECKING:
    from bbops_server.publish.proposals.local import LocalForge


def propose(forge: LocalForge, wish: Wish, *, is_forced: bool = False) -> tuple[Proposal, str]:
    """Open a proposal, or update the open one of the same author and topic; blocks.

    So is one of somebody else, if its topic is a branch that holds the commit by now: whoever may
    push to the branch may change what is proposed of it.

    Returns:
        The proposal, and the commit that it proposed before; empty for a new one.

    Raises:
        GitError: the target holds it already; or what it proposed before would be lost, and nobody
            has said that it may.
        BbopsError: too many are open.
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


class Proposing:
    """Makes and merges the proposals of one project."""

    def __init__(
        self, forge: LocalForge, bench: Bench, link: Callable[[str], str],
        drafts: DraftSource | None = None,
    ) -> None:  # fmt: skip
        """`link` makes an address of the control plane of a path."""
        self.forge, self._bench, self._link, self._drafts = forge, bench, link, drafts

    def page(self, number: int) -> str:
        """Return the address of a proposal's page."""
        return self._link(f"/projects/{self.forge.project}/proposals/{number}")

    def preview_branch(self, number: int) -> str:
        """Return the branch that shows it as a draft."""
        return f"{PREVIEW}{number}"

    def prepare_preview(self, number: int) -> None:
        """Make its draft now, so that who looks at it first need not wait."""
        if self._drafts is not None:
            self._drafts.prepare(self.preview_branch(number))

    async def open(self, wish: Wish) -> Proposal:
        """Propose a commit of the repository. Raises as `propose`, also when it is live."""
        made, _ = await asyncio.to_thread(propose, self.forge, wish, is_forced=True)
        self.prepare_preview(made.number)
        await self.look(made.number)
        return made

    async def get(self, number: int) -> Proposal:
        """Return a proposal. Raises: ServerError: there is none."""
        found = await asyncio.to_thread(self.forge.get, number)
        if found is None:
            raise ServerError(f"project '{self.forge.project}' has no proposal #{number}")
        return found

    async def look(self, number: int, *, wait_seconds: float = 0.0) -> tuple[Proposal, MergeStatus]:
        """Return a proposal and how it stands; of one that has ended, how it stood before that.

        Whoever looks first has its tests run.

        Args:
            number: of it.
            wait_seconds: for its tests.
        """
        found = await self.get(number)
        if found.state == "open":
            merge_status = await self._bench.look(
                found, self.forge.eligible, wait_seconds=wait_seconds
            )
            found = await self.get(number)  # it may be found to be merged already
            if found.state == "open":
                await asyncio.to_thread(self.forge.keep, number, encode(merge_status))
                return found, merge_status
        return found, await self._recall(found)

    async def _recall(self, found: Proposal) -> MergeStatus:
        """Return how a proposal stood that has ended, and keep what its tests say since."""
        kept = read(await asyncio.to_thread(self.forge.kept, found.number))
        told = self._bench.recall(found, kept)
        if told != kept:
            await asyncio.to_thread(self.forge.keep, found.number, encode(told))
        return end(found, told)

    async def compare(self, merge_status: MergeStatus, paths: Sequence[str] = ()) -> str:
        """Return what a proposal changes, as `git diff` does; empty where that cannot be said.

        Args:
            merge_status: how it stands.
            paths: pathspecs of the files that may be shown; none for all.
        """
        candidate = merge_status.candidate
        if candidate is None or not candidate.commit:
            return ""
        try:
            return await asyncio.to_thread(
                self.forge.compare, candidate.base, candidate.commit, paths
            )
        except GitError:  # a repository that was replaced
            return ""

    async def require_unreviewed(self, commit: str, base: str) -> None:
        """Demand that a commit on top of `base` may go live without a review.

        Raises:
            ServerError: it would not, or the rules of review would be looser by it.
            BbopsError: that cannot be found out.
        """
        if refused := await self._bench.weigh_unreviewed(commit, base):
            raise ServerError("; ".join(refused))

    async def merge(
        self, number: int, who: str, *, head: str = "", by_agent: bool = False
    ) -> Proposal:
        """Merge a proposal as it was looked at; the target holds it then, and is not yet live.

        Args:
            number: of it.
            who: merges it.
            head: the commit that was looked at; empty where that does not matter.
            by_agent: whether an agent merges it for them.

        Raises:
            ServerError: something is in the way.
            GitError: the branch has moved in the meantime, or its files have changes.
        """
        found, merge_status = await self.look(number)
        if merge_status.waits_for_tests and not merge_status.obstacles:
            found, merge_status = await self.look(number, wait_seconds=TEST_SECONDS)
        if found.state != "open":
            raise ServerError(f"proposal #{number} is {found.state}")
        if head and not found.head.startswith(head):
            raise ServerError(
                f"proposal #{number} is {found.head[:12]} by now, not {head[:12]}",
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
        await self._bench.agree(merge_status, who)
        return await asyncio.to_thread(self.forge.merge, number, merge_status.candidate, who)
