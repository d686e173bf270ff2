"""Write files completely and durably, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_CLOEXEC = getattr(os, "O_CLOEXEC", 0)  # Windows has none


@contextmanager
def written_whole(target: Path, *, end: str = "", only_new: bool = False) -> Iterator[Path]:
    """Yield an empty file, mode 0600, that replaces `target` after the block.

    An exception or the death of the process leaves `target` unchanged.

    Args:
        target: its folder must exist.
        end: the suffix of the partial file's name.
        only_new: whether to leave an existing file unchanged.

    Raises:
        OSError: nothing has changed.
    """
    handle, name = tempfile.mkstemp(end, f".{target.name}.", target.parent)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        flush(partial)
        if only_new:
            with suppress(FileExistsError):
                target.hardlink_to(partial)
        else:
            partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def replace_file(path: Path, data: bytes, *, only_new: bool = False) -> None:
    """Replace a file by `data`, mode 0600; arguments and errors as for `written_whole`."""
    with written_whole(path, only_new=only_new) as partial:
        partial.write_bytes(data)


def make_private(path: Path) -> None:
    """Create an empty file that only its owner can read; an existing file is not opened.

    A database that SQLite creates is readable by others. Opening and closing an existing one would
    release the locks that this process holds on it; another process would then count as its last
    user, and delete the log in use.
    Source: SQLite, "How To Corrupt An SQLite Database File" section 2.2.

    Raises:
        OSError: it cannot be created.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _CLOEXEC, 0o600))


def remove_file(path: Path) -> None:
    """Remove a file, if it exists.

    Raises:
        OSError: it cannot be removed.
    """
    path.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
