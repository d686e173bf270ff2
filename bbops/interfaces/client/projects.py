"""What is asked about how projects are, and about what they have answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from bbops.base.errors import ServerError
from bbops.interfaces.answers import ReconcileAnswer, ServerStatus, Status
from bbops.interfaces.client.connection import Connection, write_query
from bbops.interfaces.client.project_api import TIMEOUT_SECONDS

PLAN_SECONDS: Final = 130.0


class Projects(Connection):
    """The projects of a server."""

    def status(self, name: str, *, seconds: float = TIMEOUT_SECONDS) -> Status:
        """Return how a project is.

        Raises:
            ServerError: also when the server has no such project.
        """
        return self._read(self._ask_about("GET", name, "status", seconds=seconds), Status)

    def server(self) -> ServerStatus:
        """Return how the server's own settings are; empty from one that does not tell you."""
        answer = self._ask("GET", "/api/server")
        if answer.status_code in {HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN}:
            return ServerStatus()
        return self._read(answer, ServerStatus)

    def only_project(self) -> str:
        """Return the name of the server's one project.

        Raises:
            ServerError: also when it has none, or several.
        """
        names = [one.name for one in self.projects()]
        if len(names) != 1:
            listed = ", ".join(names) or "none"
            hint = f"add '--project {names[0]}', or the one you mean" if names else ""
            raise ServerError(
                f"name a project; the server at '{self._url}' has {listed}", hint=hint
            )
        return names[0]

    def likely_project(self, name: str) -> str:
        """Return `name` where the server has such a project, else its only one's.

        Raises:
            ServerError: also when it has none, or several others.
        """
        found = any(one.name == name for one in self.projects())
        return name if found else self.only_project()

    def weigh(
        self, name: str, tables: Mapping[str, Mapping[str, Any]], env: Sequence[str]
    ) -> dict[str, Any]:
        """Return what would become of the live data of a project if these were its tables.

        Args:
            name: the project's.
            tables: as their files say them.
            env: names of variables; the answer has those that have a value.

        Raises:
            ServerError: also when the tables have mistakes.
        """
        body = {"tables": tables, "env": list(env)}
        path = f"/api/projects/{quote(name, safe='')}/plan"
        return self._read(self._ask("POST", path, body, seconds=PLAN_SECONDS), dict[str, Any])

    def requests(self, name: str, **filters: Any) -> list[dict[str, Any]]:
        """Return the newest answered requests of a project, newest last.

        Raises:
            ServerError: also when the server has no such project, or a filter is wrong.
        """
        given = {key: value for key, value in filters.items() if value is not None}
        path = f"requests?{write_query(given)}"
        return self._read(self._ask_about("GET", name, path), list[dict[str, Any]])

    def reconcile(self, name: str, *, again: bool = False) -> datetime:
        """Have the server look at a project's repository now, and publish its newest commit.

        Args:
            name: the project's.
            again: publish it also when it is live.

        Returns:
            The time of this request: `Status.handled_at` reaches it when the attempt has ended.

        Raises:
            ServerError: also when the server has no such project.
        """
        path = "reconcile?again=true" if again else "reconcile"
        return self._read(self._ask_about("POST", name, path), ReconcileAnswer).requested_at

    def accept(self, name: str, commit: str, base: str = "") -> None:
        """Have the server serve a commit that it holds because its history was rewritten.

        Raises:
            ServerError: also when it holds another commit, or none.
        """
        self._demand(self._ask_about("POST", name, "accept", {"commit": commit, "base": base}))
