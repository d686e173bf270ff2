"""Deliveries of one project, which its data processes find in its database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from bbops.base.json_deliveries import Delivery, DeliveryStory, JsonReceiver
from bbops_server.process.messages.deliveries import (
    EnableReceiver,
    ListDeliveries,
    ListReceivers,
    RepeatDelivery,
    ShowDelivery,
)
from bbops_server.process.messages.request import A, Request
from bbops_server.publish.processes.jobs import at_once
from bbops_server.publish.processes.plane import Plane


class ProjectDeliveries:
    """Asks a data process, or that of a draft; raises BbopsError where nothing is live."""

    def __init__(
        self, plane: Plane, project: str, ready: Callable[[], Awaitable[None]] = at_once
    ) -> None:
        """Args: `ready` returns when the draft is awake."""
        self._plane, self._project, self._ready = plane, project, ready

    async def receivers(self, most: int, *, disabled: bool) -> Sequence[JsonReceiver]:
        """Return receivers by webhook; with `disabled` only those that are."""
        asked = ListReceivers(self._project, most, disabled)
        return (await self._ask(asked)).receivers

    async def enable(self, webhook: str, receiver: str) -> bool:
        """Let a receiver be told again; return whether it was disabled."""
        asked = EnableReceiver(self._project, webhook, receiver)
        return (await self._ask(asked)).is_changed

    async def list(self, direction: str, most: int) -> list[Delivery]:
        """Return deliveries, the newest first."""
        asked = ListDeliveries(self._project, direction, most)
        return (await self._ask(asked)).deliveries

    async def show(self, delivery: str) -> DeliveryStory | None:
        """Return what is kept of a delivery."""
        asked = ShowDelivery(self._project, delivery)
        return (await self._ask(asked)).story

    async def repeat(self, delivery: str) -> str:
        """Replay or resend a delivery; return the job, empty where there is no such delivery."""
        asked = RepeatDelivery(self._project, delivery)
        return (await self._ask(asked)).job

    async def _ask(self, request: Request[A]) -> A:
        await self._ready()
        return await self._plane.ask_project(self._project, request)
