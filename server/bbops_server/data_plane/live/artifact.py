"""A compiled release on the disk: trusted when it is what its name says."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Mapping
from pathlib import Path

from bbops.base.errors import ServerError


def read_artifact(path: Path) -> tuple[bytes, str]:
    """Return an artifact and the name of its project.

    Args:
        path: named by its SHA-256; what follows a dot does not count.

    Raises:
        ServerError: the file is gone, or is not what its name says.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot read artifact '{path}': {reason}") from None
    if hashlib.sha256(data).hexdigest() != path.name.partition(".")[0]:
        raise ServerError(f"artifact '{path}' is damaged", hint="publish the commit again")
    project: str = marshal.loads(data)["project"]  # noqa: S302 - our own file, just checked
    return data, project


def fill_env(artifact: bytes, values: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return a value for each variable that an older artifact declares, of those that there are.

    Raises:
        ServerError: one that it requires has no value.
    """
    declared = marshal.loads(artifact)["env"]  # noqa: S302 - our own file
    for name, how in declared.items():
        if how["required"] and values.get(name) is None:
            raise ServerError(f"env variable '{name}' has no value any more")
    return {name: values.get(name, how["default"]) for name, how in declared.items()}
