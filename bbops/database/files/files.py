"""The files of a database: put in their place whole, found and removed together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bbops.base import disk
from bbops.base.errors import DatabaseError

PARTIAL: Final = ".partial"
"""How the name of a file ends that is still being written."""

_LOGS: Final = ("-journal", "-wal")
_BESIDE: Final = (*_LOGS, "-shm")


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """Yield an empty file, mode 0600, that takes the place of `target` when the block has ended.

    A block that raises leaves `target` as it was. One that is killed does, too, and leaves a file
    behind whose name ends in `.partial`.

    Raises:
        DatabaseError: the folder cannot be written, or the disk is full.
    """
    try:
        with disk.written_whole(target, end=PARTIAL) as partial:
            _give_to_owner_of(target.parent, partial)
            try:
                yield partial
            finally:
                for one in beside(partial):
                    one.unlink(missing_ok=True)
        disk.flush(target.parent)
    except OSError as error:
        raise _cannot_write(target, error) from None


def remove(path: Path) -> None:
    """Delete a database file with what SQLite keeps beside it, where they exist."""
    for one in (path, *beside(path)):
        one.unlink(missing_ok=True)


def beside(path: Path) -> tuple[Path, ...]:
    """Return the files that SQLite keeps beside a database; they need not exist."""
    return tuple(path.with_name(path.name + end) for end in _BESIDE)


def with_logs(path: Path) -> tuple[Path, ...]:
    """Return the files in which data may lie, those that exist."""
    files = (path, *(path.with_name(path.name + end) for end in _LOGS))
    return tuple(one for one in files if one.exists())


def _give_to_owner_of(folder: Path, path: Path) -> None:
    """Let a server that runs as another user open what root has written."""
    if os.geteuid() == 0:
        owner = folder.stat()
        os.chown(path, owner.st_uid, owner.st_gid)


def _cannot_write(target: Path, error: OSError) -> DatabaseError:
    return DatabaseError(
        f"cannot write '{target}': {(error.strerror or 'no reason given').lower()}",
        hint="its folder must exist and be writable, and its disk have room",
    )
