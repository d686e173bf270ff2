"""Keep a key in a file, and notes of where data is, for their owner's eyes only."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError


def keep_key(file: Path, make: Callable[[], bytes]) -> bytes:
    """Return the key in a file; made on the first time, by one of several at once.

    Raises:
        ServerError: it cannot be read or written.
    """
    try:
        if not file.exists():
            replace_file(file, make(), only_new=True)
        return file.read_bytes()
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(f"cannot use '{file}': {reason}") from None


PLACE_FILE: Final = "database"
"""Beside a project's data: the schema of PostgreSQL that holds it, where it is no file."""

CONTROL_FILE: Final = "control"
"""In the server's state folder: the schema that holds its accounts, in the same way."""


def record_schema(state: Path, schema: str | None, note: str = PLACE_FILE) -> None:
    """Write down where the data is, for commands that run beside the server; never an address."""
    file = state / note
    with suppress(OSError):  # a full disk is told of by who needs it
        if schema is None:
            file.unlink(missing_ok=True)
        else:
            state.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(file, schema.encode())


def record_holder(lock: int) -> None:
    """Write this process into the lock of a state folder, given its descriptor."""
    with suppress(OSError):  # the disk is full, and the lock holds anyway
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
