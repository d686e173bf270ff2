"""What is asked about what went live: to hold it, to let it go on, to go back."""

from __future__ import annotations

from typing import Final

from bbops.interfaces.answers import Publication, RolledBack
from bbops.interfaces.client.connection import Connection

SECONDS: Final = 300.0
"""To go back: the commit is checked before, and tested where that is a gate."""


class Publications(Connection):
    """The publications of projects."""

    def suspend(self, name: str, reason: str) -> None:
        """Have nothing new of a project go live. Raises as `reconcile`."""
        self._demand(self._ask_about("POST", name, "suspend", {"reason": reason}))

    def resume(self, name: str) -> bool:
        """Have a project go on; return whether it was suspended. Raises as `reconcile`."""
        answer = self._read(self._ask_about("POST", name, "resume"), dict[str, bool])
        return answer["was_suspended"]

    def exempt(self, name: str) -> str:
        """Have the newest commit go live in spite of a freeze; return its revision.

        Raises:
            ServerError: also when nothing is frozen.
        """
        return self._read(self._ask_about("POST", name, "exempt"), dict[str, str])["revision"]

    def roll_back(self, name: str, version: str, only: list[str], *, now: bool) -> RolledBack:
        """Have a commit proposed that restores a version; `now`, have it put on the live branch.

        Raises:
            ServerError: also when there is no such version, or nothing would change.
        """
        body = {"version": version, "only": only, "now": now}
        return self._read(self._ask_about("POST", name, "rollback", body, SECONDS), RolledBack)

    def publications(self, name: str, limit: int) -> list[Publication]:
        """Return a project's newest attempts to go live. Raises as `status`."""
        answer = self._ask_about("GET", name, f"publications?limit={limit}")
        return self._read(answer, list[Publication])
