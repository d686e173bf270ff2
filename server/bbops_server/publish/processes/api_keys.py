"""API keys of one project, which its data processes keep in its database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from bbops_server.publish.processes.plane import Plane

Wake = Callable[[], Awaitable[None]]


async def awake() -> None:
    """Do nothing: what is live does not sleep."""


class ApiKeys:
    """Asks a data process; raises BbopsError where nothing is live, or there is no such key."""

    def __init__(self, plane: Plane, project: str, wake: Wake = awake) -> None:
        """Take whose keys they are.

        Args:
            plane: the data processes.
            project: as they know it.
            wake: returns once it can be asked, or raises BbopsError; of a draft, which may sleep.
        """
        self._plane, self._project, self._wake = plane, project, wake

    async def list(self) -> list[dict[str, Any]]:
        """Return what is known of each key, the newest first."""
        found: list[dict[str, Any]] = (await self._ask("list"))["keys"]
        return found

    async def issue(self, name: str, **given: Any) -> dict[str, str]:
        """Make a key and return {id, key}; `given` are channels, expires_in and claims."""
        return await self._ask("issue", name=name, **given)

    async def rotate(self, key: str, overlap: str) -> dict[str, str]:
        """Make one in the place of another, which ends after `overlap`; return {id, key}."""
        return await self._ask("rotate", key=key, overlap=overlap)

    async def revoke(self, key: str) -> str:
        """End a key and return its id; every process knows within seconds."""
        found: str = (await self._ask("revoke", key=key))["id"]
        return found

    async def _ask(self, verb: str, **given: Any) -> dict[str, Any]:
        await self._wake()
        return await self._plane.ask_about_keys(self._project, {"verb": verb, **given})
