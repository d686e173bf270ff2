"""Requests about drafts."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from bbops.base.diagnostics import suggest
from bbops.base.errors import ServerError
from bbops.interfaces.answers import DraftAccess, DraftStatus
from bbops.interfaces.client.connection import ServerConnection

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
