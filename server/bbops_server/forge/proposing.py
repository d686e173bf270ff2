"""Open, look at and merge the proposals of one project."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from bbops.errors import GitError, ServerError
from bbops.git.proposals import PREVIEW, Candidate, Proposal, Wish
from bbops_server.forge.standing import Bench, Standing

if TYPE_CHECKING:
    from bbops_server.forge.local import LocalForge


def propose(forge: LocalForge, wish: Wish, *, is_forced: bool = False) -> tuple[Proposal, str]:
    """Open a proposal, or update the open one of the same author and topic; blocks.

    Returns:
        The proposal, and the commit that it proposed before; empty for a new one.

    Raises:
        GitError: what it proposed before would be lost, and nobody has said that it may.
        BbopsError: too many are open.
    """
    known = forge.find(wish)
    if known is None:
        return forge.open(wish), ""
    if not is_forced and not forge.follows(known.head, wish.head):
        raise GitError(
            f"proposal #{known.number} holds commits that this does not; to replace them, push"
            " with -o force"
        )
    return forge.update(known.number, wish), known.head


class Proposing:
    """The desk of one project's proposals."""

    def __init__(self, forge: LocalForge, bench: Bench, link: Callable[[str], str]) -> None:
        """`link` makes an address of the control plane of a path."""
        self.forge, self._bench, self._link = forge, bench, link

    def page(self, number: int) -> str:
        """Return the address of a proposal's page."""
        return self._link(f"/projects/{self.forge.project}/proposals/{number}")

    def preview_branch(self, number: int) -> str:
        """Return the branch that shows it as a draft."""
        return f"{PREVIEW}{number}"

    async def open(self, wish: Wish) -> Proposal:
        """Propose a commit of the repository. Raises as `propose`, also when it is live."""
        if await asyncio.to_thread(self.forge.holds, wish.target, wish.head):
            raise GitError(f"'{wish.target}' holds that already")
        made, _ = await asyncio.to_thread(propose, self.forge, wish, is_forced=True)
        return made

    async def get(self, number: int) -> Proposal:
        """Return a proposal. Raises: ServerError: there is none."""
        found = await asyncio.to_thread(self.forge.get, number)
        if found is None:
            raise ServerError(f"project '{self.forge.project}' has no proposal #{number}")
        return found

    async def look(self, number: int, *, is_alone: bool = False) -> tuple[Proposal, Standing]:
        """Return a proposal and how it stands; one that is merged or closed stands nowhere."""
        standing = await self._bench.look(await self.get(number), is_alone=is_alone)
        return await self.get(number), standing  # it may be found to be merged already

    async def merge(
        self, number: int, who: str, *, head: str = "", is_alone: bool = False
    ) -> Proposal:
        """Merge a proposal as it was looked at; the target holds it then, and is not yet live.

        Args:
            number: of it.
            who: merges it.
            head: the commit that was looked at; empty where that does not matter.
            is_alone: whether its author is the only one who could review.

        Raises:
            ServerError: something is in the way.
            GitError: the branch has moved meanwhile, or its files have changes.
        """
        found, standing = await self.look(number, is_alone=is_alone)
        if found.state != "open":
            raise ServerError(f"proposal #{number} is {found.state}")
        if head and not found.head.startswith(head):
            raise ServerError(
                f"proposal #{number} is {found.head[:12]} by now, not {head[:12]}",
                hint="look at it again",
            )
        if standing.obstacles or standing.candidate is None:
            raise ServerError(
                f"proposal #{number} cannot be merged: {'; '.join(standing.obstacles)}"
            )
        await self._require_tests(found, standing.candidate)
        await self._bench.agree(found, standing, who)
        return await asyncio.to_thread(self.forge.merge, number, standing.candidate, who)

    async def _require_tests(self, proposal: Proposal, candidate: Candidate) -> None:
        failed = await self._bench.test(proposal, candidate)
        if failed:
            first = failed[0]
            more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
            raise ServerError(
                f"proposal #{proposal.number} cannot be merged, its tests fail:"
                f" {first['file']}:{first['line']}: {first['message']}{more}"
            )
