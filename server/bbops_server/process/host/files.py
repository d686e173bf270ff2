"""Files of a state folder that only its owner can read: keys, schema names, the lock's holder."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError


def keep_key(file: Path, make: Callable[[], bytes]) -> bytes:
    """Return the key in a file. The first call creates it, safely with concurrent processes.

    Raises:
        ServerError: the file cannot be read or written.
    """
    try:
        if not file.exists():
            replace_file(file, make(), only_new=True)
        return file.read_bytes()
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot use '{file}': {reason}") from None


PLACE_FILE: Final = "database"
"""The file in a project's state folder with its PostgreSQL schema; without it, data is SQLite."""

CONTROL_FILE: Final = "control"
"""The file in the server's state folder with the PostgreSQL schema of its accounts."""


def record_schema(state: Path, schema: str | None, note: str = PLACE_FILE) -> None:
    """Record the schema of the data for commands; never the URL of the database."""
    file = state / note
    with suppress(OSError):  # the commands report a missing file
        if schema is None:
            file.unlink(missing_ok=True)
        else:
            state.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(file, schema.encode())


def record_holder(lock: int) -> None:
    """Write this process id into the lock file of a state folder."""
    with suppress(OSError):  # on a full disk the lock is valid anyway
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
