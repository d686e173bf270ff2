"""Typed strings, and how names in a project must look.

Lower case only, so two files can never collide on a disk that ignores case.
"""

from __future__ import annotations

from typing import Annotated, NewType

from pydantic import StringConstraints

BlobId = NewType("BlobId", str)
"""The git id of a file's content."""

FilePath = NewType("FilePath", str)
"""A file's path from the project's root, with forward slashes."""

ColumnName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
VariableName = Annotated[str, StringConstraints(pattern=r"^[a-z][A-Za-z0-9_]{0,62}$")]
EnvName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,62}$")]
Duration = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,6}(ms|s|m|h|d|w)$")]

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def seconds(duration: str) -> float:
    """Return a Duration such as `10s` or `7d` in seconds."""
    unit = duration.lstrip("0123456789")
    return int(duration[: -len(unit)]) * _SECONDS[unit]
