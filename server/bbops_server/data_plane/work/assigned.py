"""What a worker does: the work of the live release, where its jobs are, and old code."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Final

from bbops.database.open import Opened
from bbops.database.schema.place import Place
from bbops.runtime.agents.control import AgentControl
from bbops.runtime.linking.work import Work
from bbops.runtime.work.control import DAY_MS, WorkControl
from bbops.runtime.work.engine import now_ms
from bbops.runtime.work.worker import WorkPlan
from bbops_server.data_plane.work.pinned import LinkOld, PinnedWork
from bbops_server.data_plane.work.pins import Pins

RUNS_KEPT_MS: Final = 30 * DAY_MS
"""The age at which runs of agents are deleted, as deliveries are."""

_PINS_SPARED_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Assigned:
    """The work of the live release, where its jobs are, and where old code is kept."""

    work: Work
    database: Opened
    place: Place
    pins: Pins

    def plan(self, link_old: LinkOld) -> WorkPlan:
        """Return how its jobs run: each on the code that it began with."""
        pinned = PinnedWork(self.work, self.pins, link_old, self.database)
        return replace(self.work.plan, run=pinned.run)

    async def sweep(self, control: WorkControl, keep_seconds: float) -> None:
        """Forget what is older than it is kept, and old code that no job needs."""
        await control.sweep(round(1000 * keep_seconds))
        now = now_ms()
        await AgentControl(self.database).sweep(now, now - RUNS_KEPT_MS)
        needed = [one.code for one in await control.code_in_use()]
        before = now / 1000 - _PINS_SPARED_SECONDS
        await asyncio.to_thread(self.pins.sweep, [*needed, *self.work.codes.items()], before)
