"""Requests about projects: their status, their plans and their recorded requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from bbops.base.errors import ServerError
from bbops.base.json_traffic import EndpointRanking
from bbops.interfaces.answers import ReconcileResponse, ServerStatus, Status
from bbops.interfaces.client.connection import TIMEOUT_SECONDS, ServerConnection, write_query

PLAN_SECONDS: Final = 130.0


class ProjectRequests(ServerConnection):
    """Requests about the projects of a server."""

    def status(
        self, name: str, *, commit: str = "", seconds: float = TIMEOUT_SECONDS
    ) -> Status:  # fmt: skip
        """Return the status of a project.

        Args:
            name: the project's name.
            commit: the whole id of a commit, whose place the status then has.
            seconds: the timeout.

        Raises:
            ServerError: also when the server has no such project.
        """
        path = f"status?{write_query({'commit': commit})}" if commit else "status"
        return self._read(self._request_project("GET", name, path, seconds=seconds), Status)

    def server(self) -> ServerStatus:
        """Return the status of the server's settings; empty if the user may not read it."""
        response = self._request("GET", "/api/server")
        if response.status_code in {HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN}:
            return ServerStatus()
        return self._read(response, ServerStatus)

    def only_project(self) -> str:
        """Return the name of the server's only project.

        Raises:
            ServerError: also when the server has no project, or several.
        """
        names = [line.name for line in self.projects()]
        if len(names) != 1:
            listed = ", ".join(names) or "none"
            hint = f"add '--project {names[0]}', or another project" if names else ""
            raise ServerError(
                f"choose a project; the server at '{self._url}' has {listed}", hint=hint
            )
        return names[0]

    def likely_project(self, name: str) -> str:
        """Return `name` if the server has such a project, else the name of its only project.

        Raises:
            ServerError: also when the server has no project, or several others.
        """
        exists = any(line.name == name for line in self.projects())
        return name if exists else self.only_project()

    def plan_live_data(
        self, name: str, tables: Mapping[str, Mapping[str, Any]], env: Sequence[str]
    ) -> dict[str, Any]:
        """Return the effects on a project's live data if it had these tables.

        Args:
            name: the project's name.
            tables: the tables as in their files.
            env: names of variables; the response has those with a value.

        Raises:
            ServerError: also when the tables have errors.
        """
        body = {"tables": tables, "env": list(env)}
        path = f"/api/projects/{quote(name, safe='')}/plan"
        return self._read(self._request("POST", path, body, seconds=PLAN_SECONDS), dict[str, Any])

    def requests(self, name: str, **filters: Any) -> list[dict[str, Any]]:
        """Return the newest recorded requests of a project, newest last.

        Raises:
            ServerError: also when the server has no such project, or a filter is not valid.
        """
        parameters = {key: value for key, value in filters.items() if value is not None}
        path = f"requests?{write_query(parameters)}"
        return self._read(self._request_project("GET", name, path), list[dict[str, Any]])

    def rank_endpoints(self, name: str, **filters: Any) -> EndpointRanking:
        """Return the endpoints of a project, slowest first, and those that failed.

        Args:
            name: the project's name.
            filters: since and until in seconds since 1970, limit.

        Raises:
            ServerError: also when the server has no such project.
        """
        parameters = {key: value for key, value in filters.items() if value is not None}
        path = f"slowest?{write_query(parameters)}"
        return self._read(self._request_project("GET", name, path), EndpointRanking)

    def reconcile(self, name: str, *, again: bool = False) -> datetime:
        """Make the server fetch a project's repository now, and publish its newest commit.

        Args:
            name: the project's name.
            again: publish the commit even if it is live.

        Returns:
            The time of this request: `Status.handled_at` reaches it at the end of the attempt.

        Raises:
            ServerError: also when the server has no such project.
        """
        path = "reconcile?again=true" if again else "reconcile"
        return self._read(self._request_project("POST", name, path), ReconcileResponse).requested_at

    def build_draft(self, name: str, branch: str) -> None:
        """Make the server fetch the repository now, and build the draft of a branch.

        Raises:
            ServerError: also when the server has no such project.
        """
        path = f"reconcile?{write_query({'draft': branch})}"
        self._require_success(self._request_project("POST", name, path))

    def accept(self, name: str, commit: str, base: str = "") -> None:
        """Accept a commit that the server holds, so that it is published.

        Raises:
            ServerError: also when the server holds another commit, or none.
        """
        self._require_success(
            self._request_project("POST", name, "accept", {"commit": commit, "base": base})
        )
