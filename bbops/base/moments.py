"""Times as people and programs read them."""

from __future__ import annotations

from datetime import UTC, datetime


def shown_time(at: float) -> str:
    """Return seconds since 1970 as `2026-01-31T12:00:00Z`."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}Z"
