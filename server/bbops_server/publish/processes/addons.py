"""Addons of one project, whose connections its data processes test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bbops.base.json_addons import TestedAddon
from bbops_server.process.messages.addons import TryAddon
from bbops_server.publish.processes.jobs import at_once
from bbops_server.publish.processes.plane import Plane


class ProjectAddons:
    """Asks a data process, or that of a draft; raises BbopsError where nothing is live."""

    def __init__(
        self, plane: Plane, project: str, ready: Callable[[], Awaitable[None]] = at_once
    ) -> None:
        """Args: `ready` returns when the draft is awake."""
        self._plane, self._project, self._ready = plane, project, ready

    async def test(self, addon: str) -> TestedAddon:
        """Return whether an addon of what is live works with its settings."""
        await self._ready()
        found = await self._plane.ask_project(self._project, TryAddon(self._project, addon))
        return TestedAddon(addon, found.state, found.text)
