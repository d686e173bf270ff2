"""Requests about frontends that are published separately."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from bbops.interfaces.answers import FrontendResult
from bbops.interfaces.client.connection import ServerConnection

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
