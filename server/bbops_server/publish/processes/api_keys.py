"""API keys of one project, which its data processes keep in its database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from bbops_server.process.messages.api_keys import IssueKey, ListKeys, RevokeKey, RotateKey
from bbops_server.process.messages.request import A, Request
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
        """Return what is known of each key, newest first."""
        return (await self._ask(ListKeys(self._project))).keys

    async def issue(self, name: str, **given: Any) -> dict[str, str]:
        """Make a key and return {id, key}; `given` are channels, expires_in and claims."""
        issued = await self._ask(IssueKey(self._project, name, **given))
        return msgspec.structs.asdict(issued)

    async def rotate(self, key: str, overlap: str) -> dict[str, str]:
        """Make one in the place of another, which ends after `overlap`; return {id, key}."""
        issued = await self._ask(RotateKey(self._project, key, overlap))
        return msgspec.structs.asdict(issued)

    async def revoke(self, key: str) -> str:
        """End a key and return its id; every process knows within seconds."""
        return (await self._ask(RevokeKey(self._project, key))).id

    async def _ask(self, request: Request[A]) -> A:
        await self._wake()
        return await self._plane.ask_project(self._project, request)
