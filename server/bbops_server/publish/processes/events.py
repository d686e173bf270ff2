"""Events of one project, which its data processes find in its database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bbops.base.json_events import LoggedEvent
from bbops_server.process.messages.events import EmitEvent, ListEvents, ReplayEvents
from bbops_server.process.messages.request import A, Request
from bbops_server.publish.processes.jobs import at_once
from bbops_server.publish.processes.plane import Plane


class ProjectEvents:
    """Asks a data process, or that of a draft; raises BbopsError where nothing is live."""

    def __init__(
        self, plane: Plane, project: str, ready: Callable[[], Awaitable[None]] = at_once
    ) -> None:
        """Args: `ready` returns when the draft is awake."""
        self._plane, self._project, self._ready = plane, project, ready

    async def emit(self, event: str, payload: str) -> list[str]:
        """Emit an event with a payload of JSON; return the triggers that wait for it."""
        asked = EmitEvent(self._project, event, payload)
        return (await self._ask(asked)).triggers

    async def replay(self, trigger: str, since: float, *, counts: bool) -> int:
        """Run a trigger again for events since a time; return how many. `counts` runs nothing."""
        asked = ReplayEvents(self._project, trigger, since, counts)
        return (await self._ask(asked)).count

    async def list(self, name: str, most: int) -> list[LoggedEvent]:
        """Return events of the log, the newest first; with `name` only those."""
        asked = ListEvents(self._project, name, most)
        return (await self._ask(asked)).events

    async def _ask(self, request: Request[A]) -> A:
        await self._ready()
        return await self._plane.ask_project(self._project, request)
