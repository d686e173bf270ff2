"""What compiled code calls for the steps `emit` and `publish`."""

from __future__ import annotations

from typing import Any, Final

from bbops.runtime.values.values import check_size

MAX_PAYLOAD: Final = 1_000_000
"""Characters and members of a payload."""


async def emit(host: Any, event: str, payload: Any, origin: str) -> None:
    """Tell the triggers of an event; inside a transaction when it commits."""
    check_size([payload], MAX_PAYLOAD)
    if host.events is not None:
        await host.events.emit(event, payload, origin=origin)


async def publish(host: Any, realtime: str, params: Any, event: str, payload: Any) -> None:
    """Tell who has subscribed to a topic."""
    check_size([params, payload], MAX_PAYLOAD)
    if host.realtime is not None:
        await host.realtime.publish(realtime, params or {}, event, payload)
