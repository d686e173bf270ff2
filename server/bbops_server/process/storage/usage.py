"""How much a store holds: counted once, then kept in a file that all processes of a server share.

A process that is alone counts anew, and removes what was left half written.
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
"""What names of ours begin with; no path has such a part."""
USAGE: Final = STORE
_PRESENCE: Final = f"{INTERNAL_PREFIX}presence"
_NUMBERS: Final = struct.Struct("<QQ")


class StoredSize(NamedTuple):
    """Bytes and files."""

    size_bytes: int
    files: int


class StorageUsage:
    """The count of one store. Its methods block for a moment."""

    def __init__(self, folder: int, most: StoredSize, count: Callable[[], StoredSize]) -> None:
        """Join those who use a store.

        Args:
            folder: the descriptor of the store's folder.
            most: what it may hold.
            count: looks at all of it, where nobody else uses it.
        """
        self.most, self._lock = most, threading.Lock()
        self._file = _open(USAGE, folder)
        self._presence = _open(_PRESENCE, folder)
        try:
            fcntl.flock(self._presence, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._write(count())
        except BlockingIOError:
            pass  # somebody has counted
        fcntl.flock(self._presence, fcntl.LOCK_SH)

    def close(self) -> None:
        """Leave."""
        os.close(self._file)
        os.close(self._presence)

    @contextmanager
    def changing(self) -> Iterator[Callable[[int, int], None]]:
        """Keep others from changing; yield what counts bytes and files that come or go.

        A block that raises has changed nothing.

        Raises:
            Thrown: 507 `storageFull`, by what is yielded.
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
        """Return what the store holds."""
        with self._lock:
            return self._read()

    def _change(self, before: StoredSize, size_bytes: int, files: int) -> None:
        now = StoredSize(max(before.size_bytes + size_bytes, 0), max(before.files + files, 0))
        if size_bytes > 0 and now.size_bytes > self.most.size_bytes:
            raise _full(f"{self.most.size_bytes:,} bytes")
        if files > 0 and now.files > self.most.files:
            raise _full(f"{self.most.files:,} files")
        self._write(now)

    def _read(self) -> StoredSize:
        found = os.pread(self._file, _NUMBERS.size, 0)
        return (
            StoredSize(*_NUMBERS.unpack(found)) if len(found) == _NUMBERS.size else StoredSize(0, 0)
        )

    def _write(self, held: StoredSize) -> None:
        os.pwrite(self._file, _NUMBERS.pack(*held), 0)


def _full(most: str) -> Thrown:
    return Thrown(507, f"this project keeps at most {most}", code="storageFull")


def _open(name: str, folder: int) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, 0o600, dir_fd=folder)


def sweep(folder: int) -> None:
    """Remove what saves have left here that were killed."""
    with os.scandir(folder) as entries:
        left = [one.name for one in entries if one.name.startswith(f"{INTERNAL_PREFIX}new-")]
    for name in left:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
