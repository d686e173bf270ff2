"""API keys of one project, which its data processes keep in its database."""

from __future__ import annotations

from typing import Any

from bbops_server.live.plane import Plane


class ApiKeys:
    """Asks a data process; raises BbopsError where nothing is live, or there is no such key."""

    def __init__(self, plane: Plane, project: str) -> None:
        """Args: `project`: as the data processes know it."""
        self._plane, self._project = plane, project

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
        return await self._plane.ask_about_keys(self._project, {"verb": verb, **given})
