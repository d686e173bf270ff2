"""The time, as this machine tells it."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """The door `bbops.base.host.Clock`."""

    __slots__ = ()

    def now(self) -> datetime:
        """Return the aware UTC time, to the microsecond."""
        return datetime.now(UTC)  # noqa: TID251 - this is the door
