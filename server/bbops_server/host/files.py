"""Write a file whole or not at all, for its owner's eyes only."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace_file(path: Path, data: bytes, *, only_new: bool = False) -> None:
    """Put `data` in the place of a file, mode 0600, on disk before anyone can see it.

    Args:
        path: its folder must exist.
        data: the whole content.
        only_new: leave a file that is there as it is.

    Raises:
        OSError: nothing has changed.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if only_new:
            _link(temporary, path)
        else:
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except FileExistsError:
        return
