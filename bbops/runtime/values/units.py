"""Durations (`500ms`, `10s`, `5m`, `24h`, `7d`, `2w`) and sizes (`500KB`, `5MB`) in projects.

A kilobyte has 1,024 bytes.
"""

from __future__ import annotations

from typing import Final

from bbops.runtime.values.failures import BadValue

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def seconds(duration: object) -> float:
    """Return a duration in seconds.

    Raises:
        FlowError: it is not a whole number with one of the units.
    """
    if isinstance(duration, str) and len(duration) <= 12:
        unit = duration.lstrip("0123456789")
        count = duration[: len(duration) - len(unit)]
        if unit in _SECONDS and count.isascii() and count:
            return int(count) * _SECONDS[unit]
    raise BadValue("a duration is a number and a unit, for example '10s', '24h' or '7d'")


MAX_BODY: Final = "1MB"
"""How large a body may be where the endpoint does not say `maxBody`."""

_SHIFTS: Final = {"KB": 10, "MB": 20, "GB": 30, "B": 0}


def size_bytes(size: str) -> int:
    """Return a checked size in bytes."""
    for unit, shift in _SHIFTS.items():
        if size.endswith(unit):
            return int(size.removesuffix(unit)) << shift
    raise ValueError(size)
