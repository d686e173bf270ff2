"""What compiled code calls for the step `transaction`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

from bbops.base.host import Events, Host
from bbops.runtime.flow.run import WITHIN, Run
from bbops.runtime.values.failures import FlowError


@dataclass(slots=True)
class Held:
    """Keeps what is emitted until the transaction commits."""

    events: list[tuple[str, Any]] = field(default_factory=list)

    async def emit(self, event: str, payload: Any) -> None:
        """Keep an event."""
        self.events.append((event, payload))

    async def publish(
        self, realtime: str, params: Mapping[str, Any], event: str, payload: Any
    ) -> None:
        """Refuse what cannot be taken back; the check does so before."""
        del realtime, params, event, payload
        raise FlowError("'publish' is not allowed inside a transaction")


class Within:
    """Runs steps in one transaction, used in `async with`; gives the doors that they use.

    Functions that they call use the same doors: `invoke` finds them in WITHIN.
    """

    __slots__ = ("door", "events", "held", "host", "token")

    def __init__(self, run: Run) -> None:
        self.host: Host = run.host
        self.events: Events | None = self.host.events
        self.door = self.host.database.transaction()
        self.held = Held()

    async def __aenter__(self) -> Host:
        database = await self.door.__aenter__()
        inner = replace(self.host, database=database, events=self.held)
        self.token = WITHIN.set(inner)
        return inner

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        WITHIN.reset(self.token)
        await self.door.__aexit__(kind, error, trace)
        if error is None and self.events is not None:
            for event, payload in self.held.events:
                await self.events.emit(event, payload)
