"""The size of a folder's files, in a file that all processes of a server share.

The only process of a folder counts all files again, and removes partial files.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from bbops.runtime.values.failures import Thrown
from bbops.source.tree import STORE

INTERNAL_PREFIX: Final = ".bbops-"
"""The prefix of internal file names. Paths of a project cannot contain it."""
USAGE: Final = STORE
_PRESENCE: Final = f"{INTERNAL_PREFIX}presence"
_PARTIAL_PREFIX: Final = f"{INTERNAL_PREFIX}new-"
_NUMBERS: Final = struct.Struct("<QQ")


class StoredSize(NamedTuple):
    """A number of bytes and files."""

    size_bytes: int
    files: int


class StorageUsage:
    """The usage of a folder. Its methods block briefly."""

    def __init__(self, folder: int, limit: StoredSize, count: Callable[[], StoredSize]) -> None:
        """Open the usage of a folder.

        Args:
            folder: the descriptor of the folder.
            limit: the most bytes and files.
            count: counts all files; called if no other process uses the folder.
        """
        self.limit, self._lock = limit, threading.Lock()
        self._file = _open(USAGE, folder)
        self._presence = _open(_PRESENCE, folder)
        try:
            fcntl.flock(self._presence, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._write(count())
        except BlockingIOError:
            pass  # another process has counted
        fcntl.flock(self._presence, fcntl.LOCK_SH)

    def close(self) -> None:
        """Close the files, which releases the locks."""
        os.close(self._file)
        os.close(self._presence)

    @contextmanager
    def changing(self) -> Iterator[Callable[[int, int], None]]:
        """Lock the usage; yield a function that adds bytes and files.

        If the block raises, the usage is not changed.

        Raises:
            Thrown: 507 `storageFull`, raised by the yielded function.
        """
        with self._lock:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            before = self._read()
            try:
                yield lambda size_bytes, files: self._change(before, size_bytes, files)
            except BaseException:
                self._write(before)
                raise
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def read(self) -> StoredSize:
        """Return the usage."""
        with self._lock:
            return self._read()

    def _change(self, before: StoredSize, size_bytes: int, files: int) -> None:
        now = StoredSize(max(before.size_bytes + size_bytes, 0), max(before.files + files, 0))
        if size_bytes > 0 and now.size_bytes > self.limit.size_bytes:
            raise _full(f"{self.limit.size_bytes:,} bytes")
        if files > 0 and now.files > self.limit.files:
            raise _full(f"{self.limit.files:,} files")
        self._write(now)

    def _read(self) -> StoredSize:
        data = os.pread(self._file, _NUMBERS.size, 0)
        return (
            StoredSize(*_NUMBERS.unpack(data)) if len(data) == _NUMBERS.size else StoredSize(0, 0)
        )

    def _write(self, size: StoredSize) -> None:
        os.pwrite(self._file, _NUMBERS.pack(*size), 0)


def _full(limit: str) -> Thrown:
    return Thrown(507, f"this project keeps at most {limit}", code="storageFull")


def _open(name: str, folder: int) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, 0o600, dir_fd=folder)


def sweep(folder: int) -> None:
    """Remove partial files of killed saves."""
    with os.scandir(folder) as entries:
        left = [entry.name for entry in entries if entry.name.startswith(_PARTIAL_PREFIX)]
    for name in left:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
