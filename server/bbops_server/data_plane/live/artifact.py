"""A compiled release on the disk: trusted when it is what its name says."""

from __future__ import annotations

import hashlib
import marshal
from pathlib import Path

from bbops.base.errors import ServerError


def read_artifact(path: Path) -> tuple[bytes, str]:
    """Return an artifact and the name of its project.

    Raises:
        ServerError: the file is gone, or is not what its name, a SHA-256, says.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot read artifact '{path}': {reason}") from None
    if hashlib.sha256(data).hexdigest() != path.name:
        raise ServerError(f"artifact '{path}' is damaged", hint="publish the commit again")
    project: str = marshal.loads(data)["project"]  # noqa: S302 - our own file, just checked
    return data, project
