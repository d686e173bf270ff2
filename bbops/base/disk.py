"""Put a file where it belongs once it is whole and on the disk, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_CLOEXEC = getattr(os, "O_CLOEXEC", 0)  # Windows has none


@contextmanager
def written_whole(target: Path, *, end: str = "", only_new: bool = False) -> Iterator[Path]:
    """Yield an empty file, mode 0600, that takes the place of `target` when the block has ended.

    A block that raises leaves `target` as it was; so does one that is killed.

    Args:
        target: its folder must exist.
        end: how the name of a file ends that is still being written.
        only_new: leave a file that is there as it is.

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
    """Put `data` in the place of a file, mode 0600; arguments and errors as `written_whole`."""
    with written_whole(path, only_new=only_new) as partial:
        partial.write_bytes(data)


def make_private(path: Path) -> None:
    """Make an empty file for its owner alone; one that is there is not touched.

    A database that SQLite itself makes can be read by others. To open and close one that is there
    would end every lock that this process has on it, and another process would take itself for the
    last one to use the database, and remove the log under our hands.
    Source: SQLite, "How To Corrupt An SQLite Database File" section 2.2.

    Raises:
        OSError: it cannot be made.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _CLOEXEC, 0o600))


def remove_file(path: Path) -> None:
    """Remove a file, or nothing where there is none.

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
