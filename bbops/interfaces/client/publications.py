"""Requests about publications: suspend and resume them, and roll back."""

from __future__ import annotations

from typing import Final

from bbops.interfaces.answers import Publication, RollbackResult
from bbops.interfaces.client.connection import ServerConnection

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
