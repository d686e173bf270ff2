"""What is asked about drafts."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from bbops.base.diagnostics import suggest
from bbops.base.errors import ServerError
from bbops.interfaces.answers import DraftStatus, Preview
from bbops.interfaces.client.connection import Connection

ROWS_SECONDS: Final = 650.0


class Drafts(Connection):
    """The drafts of projects."""

    def drafts(self, name: str) -> list[DraftStatus]:
        """Return a project's drafts, the one committed to last first.

        Raises:
            ServerError: also when the server has no such project.
        """
        return self._read(self._ask_about("GET", name, "drafts"), list[DraftStatus])

    def draft(self, name: str, wanted: str) -> DraftStatus:
        """Return the draft of a branch or of a slug.

        Raises:
            ServerError: also when there is none.
        """
        found = self.drafts(name)
        for one in found:
            if wanted in {one.branch, one.slug}:
                return one
        branches = [one.branch for one in found]
        hint = suggest(wanted, branches) or "push the branch; 'bbops drafts list' shows them"
        raise ServerError(f"project '{name}' has no draft '{wanted}'", hint=hint)

    def path_in(self, name: str, draft: str | None, path: str) -> str:
        """Return the path of something of a project, or of a draft of it. Raises as `draft`."""
        if draft is None:
            return path
        return f"drafts/{quote(self.draft(name, draft).slug, safe='')}/{path}"

    def run_draft(self, name: str, slug: str, seconds: float) -> int:
        """Let a draft's jobs run by themselves for a time; return how many were held."""
        path = f"drafts/{quote(slug, safe='')}/work"
        answer = self._ask_about("POST", name, path, {"seconds": seconds})
        return self._read(answer, dict[str, int])["released"]

    def open_draft(self, name: str, slug: str, hours: int) -> Preview:
        """Return a token for a draft. Raises as `draft`."""
        path = f"drafts/{quote(slug, safe='')}/token"
        return self._read(self._ask_about("POST", name, path, {"hours": hours}), Preview)

    def renew_draft(self, name: str, slug: str) -> None:
        """Have a draft start again with an empty database. Raises as `draft`."""
        self._demand(self._ask_about("POST", name, f"drafts/{quote(slug, safe='')}/renew"))

    def allow_hosts(self, name: str, slug: str, commit: str, hosts: list[str]) -> list[str]:
        """Let a draft reach hosts at a commit; return all that were allowed. Raises as `draft`."""
        path = f"drafts/{quote(slug, safe='')}/hosts"
        answer = self._ask_about("POST", name, path, {"commit": commit, "hosts": hosts})
        return self._read(answer, dict[str, list[str]])["hosts"]

    def copy_rows(
        self, name: str, slug: str, tables: list[str], limit: int, masked: list[str]
    ) -> dict[str, int]:
        """Have live rows copied into a draft; return how many each table got. Raises as `draft`."""
        body = {"tables": tables, "limit": limit, "masked": masked}
        path = f"/api/projects/{quote(name, safe='')}/drafts/{quote(slug, safe='')}/rows"
        answer = self._ask("POST", path, body, seconds=ROWS_SECONDS)
        return self._read(answer, dict[str, dict[str, int]])["rows"]
