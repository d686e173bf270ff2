"""The system clock."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """Implements `bbops.base.host.Clock`."""

    __slots__ = ()

    def now(self) -> datetime:
        """Return the aware UTC time, to the microsecond."""
        return datetime.now(UTC)  # noqa: TID251 - the implementation of the clock
