"""Sizes as projects write them: `500KB`, `5MB`; a kilobyte has 1,024 bytes."""

from __future__ import annotations

from typing import Final

MAX_BODY: Final = "1MB"
"""How large a body may be where the endpoint does not say `maxBody`."""

_SHIFTS: Final = {"KB": 10, "MB": 20, "GB": 30, "B": 0}


def size_bytes(size: str) -> int:
    """Return a checked size in bytes."""
    for unit, shift in _SHIFTS.items():
        if size.endswith(unit):
            return int(size.removesuffix(unit)) << shift
    raise ValueError(size)
