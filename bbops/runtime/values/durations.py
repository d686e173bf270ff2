"""Durations as projects write them: `500ms`, `10s`, `5m`, `24h`, `7d`, `2w`."""

from __future__ import annotations

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
