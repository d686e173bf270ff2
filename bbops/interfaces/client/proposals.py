"""Requests about proposals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote

from bbops.interfaces.answers import MergeResult, ProposalDetail, ReplayResult
from bbops.interfaces.client.connection import ServerConnection
from bbops.source.git.proposals import Proposal

T = TypeVar("T")

MERGE_SECONDS: Final = 400.0
"""Longer than the tests of a merge, and the wait until it is live."""


class ProposalRequests(ServerConnection):
    """Requests about the proposals of projects."""

    def proposals(self, name: str, state: str | None = None) -> list[Proposal]:
        """Return a project's proposals, newest first.

        Raises:
            ServerError: also when the server has no such project.
        """
        query = f"?state={state}" if state else ""
        return self._read(self._request_project("GET", name, f"proposals{query}"), list[Proposal])

    def proposal(self, name: str, number: int) -> ProposalDetail:
        """Return a proposal with its status. Raises: ServerError: also when it does not exist."""
        return self._request_proposal(name, number, "GET", kind=ProposalDetail)

    def review(self, name: str, number: int, verdict: str, text: str, plan: str = "") -> Proposal:
        """Review a proposal: approve it, request changes, or comment.

        Args:
            name: the project's name.
            number: the proposal's number.
            verdict: approved, refused or commented.
            text: the comment.
            plan: the digest of the reviewed plan; empty for the current plan.

        Raises:
            ServerError: also when the plan has changed since.
        """
        body = {"verdict": verdict, "text": text, "plan": plan}
        return self._request_proposal(name, number, "POST", "/review", body, kind=Proposal)

    def mark_proposal(
        self, name: str, number: int, *, ready: bool | None = None,
        reviewers: Sequence[str] | None = None,
    ) -> Proposal:  # fmt: skip
        """Mark a proposal as ready, and request reviews; None leaves a value unchanged.

        Raises:
            ServerError: also when another user owns it, or a reviewer cannot review it.
        """
        body = {"ready": ready, "reviewers": None if reviewers is None else list(reviewers)}
        return self._request_proposal(name, number, "POST", "/mark", body, kind=Proposal)

    def merge(self, name: str, number: int, head: str = "") -> MergeResult:
        """Merge a proposal, and wait until it is live. Raises: ServerError: also when blocked."""
        return self._request_proposal(
            name, number, "POST", "/merge", {"head": head}, kind=MergeResult
        )

    def replay_proposal(self, name: str, number: int) -> ReplayResult:
        """Replay requests on a proposal's draft. Raises: ServerError: also when that fails."""
        return self._request_proposal(name, number, "POST", "/replay", kind=ReplayResult)

    def close_proposal(self, name: str, number: int) -> Proposal:
        """Close a proposal. Raises: ServerError: also when another user owns it."""
        return self._request_proposal(name, number, "POST", "/close", kind=Proposal)

    def _request_proposal(
        self, name: str, number: int, method: str, subject: str = "", body: Any = None, *,
        kind: type[T],
    ) -> T:  # fmt: skip
        """Send a request about a proposal; the response to a merge arrives when it is live."""
        path = f"/api/projects/{quote(name, safe='')}/proposals/{number}{subject}"
        return self._read(self._request(method, path, body, seconds=MERGE_SECONDS), kind)
