"""What is asked about frontends that are published on their own."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from bbops.interfaces.answers import PublishedFrontend
from bbops.interfaces.client.connection import Connection

PUBLISH_SECONDS: Final = 260.0


class Frontends(Connection):
    """The frontends of projects."""

    def publish_frontend(self, name: str, archive: bytes, message: str) -> PublishedFrontend:
        """Have the files of a zip archive published; answers when they are live.

        Raises:
            ServerError: also when the project takes none.
        """
        path = f"/api/projects/{quote(name, safe='')}/frontends?message={quote(message)}"
        answer = self._send("POST", path, content=archive, seconds=PUBLISH_SECONDS)
        return self._read(answer, PublishedFrontend)

    def frontends(self, name: str) -> list[dict[str, Any]]:
        """Return the frontends that were published on their own. Raises as `status`."""
        return self._read(self._ask_about("GET", name, "frontends"), list[dict[str, Any]])
