"""Requests about publications: suspend and resume them, and roll back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote

from bbops.base.diagnostics import suggest
from bbops.base.errors import ServerError
from bbops.interfaces.answers import (
    DraftAccess,
    DraftStatus,
    FrontendResult,
    MergeResult,
    ProposalDetail,
    Publication,
    ReplayResult,
    RollbackResult,
)
from bbops.interfaces.client.connection import ServerConnection
from bbops.source.git.proposals import Proposal

SECONDS: Final = 300.0
"""The timeout of a rollback: the server checks the commit first, and runs the test gate."""


class PublicationRequests(ServerConnection):
    """Requests about the publications of projects."""

    def suspend(self, name: str, reason: str) -> None:
        """Suspend the publications of a project. Raises as `reconcile`."""
        self._require_success(self._request_project("POST", name, "suspend", {"reason": reason}))

    def resume(self, name: str) -> bool:
        """Resume the publications of a project; return whether it was suspended.

        Raises as `reconcile`.
        """
        response = self._read(self._request_project("POST", name, "resume"), dict[str, bool])
        return response["was_suspended"]

    def exempt(self, name: str) -> str:
        """Publish the newest commit despite a freeze; return its revision.

        Raises:
            ServerError: also when there is no freeze.
        """
        return self._read(self._request_project("POST", name, "exempt"), dict[str, str])["revision"]

    def roll_back(self, name: str, version: str, only: list[str], *, now: bool) -> RollbackResult:
        """Open a proposal that restores a version; with `now`, commit it to the live branch.

        Raises:
            ServerError: also when there is no such version, or nothing would change.
        """
        body = {"version": version, "only": only, "now": now}
        return self._read(
            self._request_project("POST", name, "rollback", body, SECONDS), RollbackResult
        )

    def publications(self, name: str, limit: int) -> list[Publication]:
        """Return a project's newest publications. Raises as `status`."""
        response = self._request_project("GET", name, f"publications?limit={limit}")
        return self._read(response, list[Publication])


ROWS_SECONDS: Final = 650.0


class DraftRequests(ServerConnection):
    """Requests about the drafts of projects."""

    def drafts(self, name: str) -> list[DraftStatus]:
        """Return a project's drafts, most recent commit first.

        Raises:
            ServerError: also when the server has no such project.
        """
        return self._read(self._request_project("GET", name, "drafts"), list[DraftStatus])

    def draft(self, name: str, branch: str) -> DraftStatus:
        """Return the draft of a branch, which may be given by its slug.

        Raises:
            ServerError: also when there is no such draft.
        """
        drafts = self.drafts(name)
        for draft in drafts:
            if branch in {draft.branch, draft.slug}:
                return draft
        branches = [draft.branch for draft in drafts]
        hint = suggest(branch, branches) or "push the branch; 'bbops drafts list' shows all drafts"
        raise ServerError(f"project '{name}' has no draft '{branch}'", hint=hint)

    def path_in(self, name: str, draft: str | None, path: str) -> str:
        """Return the path of a resource of a project, or of a draft of it. Raises as `draft`."""
        if draft is None:
            return path
        return f"drafts/{quote(self.draft(name, draft).slug, safe='')}/{path}"

    def run_draft(self, name: str, slug: str, seconds: float) -> int:
        """Run a draft's jobs automatically for a time; return the number of released jobs."""
        path = f"drafts/{quote(slug, safe='')}/work"
        response = self._request_project("POST", name, path, {"seconds": seconds})
        return self._read(response, dict[str, int])["released"]

    def open_draft(self, name: str, slug: str, hours: int) -> DraftAccess:
        """Create a token for a draft. Raises as `draft`."""
        path = f"drafts/{quote(slug, safe='')}/token"
        return self._read(self._request_project("POST", name, path, {"hours": hours}), DraftAccess)

    def renew_draft(self, name: str, slug: str) -> None:
        """Reset a draft to an empty database. Raises as `draft`."""
        self._require_success(
            self._request_project("POST", name, f"drafts/{quote(slug, safe='')}/renew")
        )

    def allow_hosts(self, name: str, slug: str, commit: str, hosts: list[str]) -> list[str]:
        """Let a draft reach hosts at a commit; return all allowed hosts. Raises as `draft`."""
        path = f"drafts/{quote(slug, safe='')}/hosts"
        response = self._request_project("POST", name, path, {"commit": commit, "hosts": hosts})
        return self._read(response, dict[str, list[str]])["hosts"]

    def copy_rows(
        self, name: str, slug: str, tables: list[str], limit: int, masked: list[str]
    ) -> dict[str, int]:
        """Copy live rows into a draft; return the number of rows by table. Raises as `draft`."""
        body = {"tables": tables, "limit": limit, "masked": masked}
        path = f"/api/projects/{quote(name, safe='')}/drafts/{quote(slug, safe='')}/rows"
        response = self._request("POST", path, body, seconds=ROWS_SECONDS)
        return self._read(response, dict[str, dict[str, int]])["rows"]


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


PUBLISH_SECONDS: Final = 260.0


class FrontendRequests(ServerConnection):
    """Requests about the frontends of projects."""

    def publish_frontend(self, name: str, archive: bytes, message: str) -> FrontendResult:
        """Publish the files of a zip archive; return when they are live.

        Raises:
            ServerError: also when the project accepts no frontends.
        """
        path = f"/api/projects/{quote(name, safe='')}/frontends?message={quote(message)}"
        response = self._send("POST", path, content=archive, seconds=PUBLISH_SECONDS)
        return self._read(response, FrontendResult)

    def frontends(self, name: str) -> list[dict[str, Any]]:
        """Return the separately published frontends. Raises as `status`."""
        return self._read(self._request_project("GET", name, "frontends"), list[dict[str, Any]])
