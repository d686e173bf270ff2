"""The files of a database: written whole, found and removed together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bbops.base import disk
from bbops.base.errors import DatabaseError

PARTIAL: Final = ".partial"
"""The suffix of a file that is still being written."""

_LOGS: Final = ("-journal", "-wal")
_BESIDE: Final = (*_LOGS, "-shm")


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """Yield an empty file, mode 0600, that replaces `target` at the end of the block.

    A block that raises leaves `target` as it was. So does a killed process, which also leaves a
    file whose name ends in `.partial`.

    Raises:
        DatabaseError: the folder cannot be written, or the disk is full.
    """
    try:
        with disk.written_whole(target, end=PARTIAL) as partial:
            _give_to_owner_of(target.parent, partial)
            try:
                yield partial
            finally:
                for file in log_files(partial):
                    file.unlink(missing_ok=True)
        disk.flush(target.parent)
    except OSError as error:
        raise _cannot_write(target, error) from None


def remove(path: Path) -> None:
    """Delete a database file with the files that SQLite keeps beside it, if they exist."""
    for file in (path, *log_files(path)):
        file.unlink(missing_ok=True)


def log_files(path: Path) -> tuple[Path, ...]:
    """Return the files that SQLite keeps beside a database; they need not exist."""
    return tuple(path.with_name(path.name + end) for end in _BESIDE)


def with_logs(path: Path) -> tuple[Path, ...]:
    """Return the existing files that may contain data."""
    files = (path, *(path.with_name(path.name + end) for end in _LOGS))
    return tuple(file for file in files if file.exists())


def _give_to_owner_of(folder: Path, path: Path) -> None:
    """Let a server under another user open the files that root has written."""
    if os.geteuid() == 0:
        owner = folder.stat()
        os.chown(path, owner.st_uid, owner.st_gid)


def _cannot_write(target: Path, error: OSError) -> DatabaseError:
    return DatabaseError(
        f"cannot write '{target}': {(error.strerror or 'no reason given').lower()}",
        hint="its folder must exist and be writable, and its disk have room",
    )
