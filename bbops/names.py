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
"""Such as `10s` or `7d`; `bbops.runtime.durations` reads it."""
