"""What compiled code calls for the step `transaction`."""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType

from bbops.base.host import Events, Host
from bbops.runtime.flow.run import WITHIN, Run


class Within:
    """Runs steps in one transaction, used in `async with`; gives the doors that they use.

    Functions that they call use the same doors: `invoke` finds them in WITHIN.
    """

    __slots__ = ("door", "events", "host", "token")

    def __init__(self, run: Run) -> None:
        self.host: Host = run.host
        self.events: Events | None = None
        self.door = self.host.database.transaction()

    async def __aenter__(self) -> Host:
        database = await self.door.__aenter__()
        if self.host.events is not None:
            self.events = self.host.events.within(database)
        inner = replace(self.host, database=database, events=self.events)
        self.token = WITHIN.set(inner)
        return inner

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        WITHIN.reset(self.token)
        await self.door.__aexit__(kind, error, trace)
        if error is None and self.events is not None:
            await self.events.committed()
