"""What is asked about proposals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote

from bbops.interfaces.answers import Merged, ProposalDetail, Replayed
from bbops.interfaces.client.connection import Connection
from bbops.source.git.proposals import Proposal

T = TypeVar("T")

MERGE_SECONDS: Final = 400.0
"""More than a server takes to test what it merges, and waits for it to be live."""


class Proposals(Connection):
    """The proposals of projects."""

    def proposals(self, name: str, state: str | None = None) -> list[Proposal]:
        """Return a project's proposals, newest first.

        Raises:
            ServerError: also when the server has no such project.
        """
        query = f"?state={state}" if state else ""
        return self._read(self._ask_about("GET", name, f"proposals{query}"), list[Proposal])

    def proposal(self, name: str, number: int) -> ProposalDetail:
        """Return a proposal and how it stands. Raises: ServerError: also when there is none."""
        return self._ask_of(name, number, "GET", kind=ProposalDetail)

    def review(self, name: str, number: int, verdict: str, text: str, plan: str = "") -> Proposal:
        """Say something of a proposal.

        Args:
            name: the project's.
            number: of the proposal.
            verdict: approved, refused or commented.
            text: what is said.
            plan: the digest of what was looked at; empty for what it is now.

        Raises:
            ServerError: also when it has changed since.
        """
        body = {"verdict": verdict, "text": text, "plan": plan}
        return self._ask_of(name, number, "POST", "/review", body, kind=Proposal)

    def mark_proposal(
        self, name: str, number: int, *, ready: bool | None = None,
        reviewers: Sequence[str] | None = None,
    ) -> Proposal:  # fmt: skip
        """Say whether a proposal is ready, and who is asked for a review; None stays.

        Raises:
            ServerError: also when it is somebody else's, or somebody cannot review it.
        """
        body = {"ready": ready, "reviewers": None if reviewers is None else list(reviewers)}
        return self._ask_of(name, number, "POST", "/mark", body, kind=Proposal)

    def merge(self, name: str, number: int, head: str = "") -> Merged:
        """Merge a proposal, and wait until it is live. Raises: ServerError: or it may not be."""
        return self._ask_of(name, number, "POST", "/merge", {"head": head}, kind=Merged)

    def replay_proposal(self, name: str, number: int) -> Replayed:
        """Have a proposal's draft asked again. Raises: ServerError: also when it does not work."""
        return self._ask_of(name, number, "POST", "/replay", kind=Replayed)

    def close_proposal(self, name: str, number: int) -> Proposal:
        """Close a proposal. Raises: ServerError: also when it is somebody else's."""
        return self._ask_of(name, number, "POST", "/close", kind=Proposal)

    def _ask_of(
        self, name: str, number: int, method: str, what: str = "", body: Any = None, *,
        kind: type[T],
    ) -> T:  # fmt: skip
        """Ask about a proposal; a merge is answered when it is live."""
        path = f"/api/projects/{quote(name, safe='')}/proposals/{number}{what}"
        return self._read(self._ask(method, path, body, seconds=MERGE_SECONDS), kind)
