"""One lock per database file, among all threads and processes of this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType

from bbops.base.errors import DatabaseError

if sys.platform == "win32":
    import msvcrt
    import time

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _lock(descriptor: int) -> None:
        while not _try_lock(descriptor):
            time.sleep(0.005)  # another process holds it; Windows cannot wait for that

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


class Gate:
    """The lock of a database file for writers, migrations and checkpoints: flock on `<file>.lock`.

    SQLite's own lock is polled, which starves writers, and a commit beside a second checkpoint can
    damage the file before SQLite 3.51.3; the kernel queues waiters and frees a dead process's gate.

    A gate belongs to one thread: two threads need two gates. A forked child shares its parent's
    gate, so open it after the fork. Not for network file systems.

    Source: SQLite, "The WAL-Reset Bug" (wal.html#walresetbug).
    """

    def __init__(self, path: Path) -> None:
        """Open the gate of the database at `path`, without taking it."""
        try:
            flags = os.O_RDWR | os.O_CREAT
            self._descriptor = os.open(f"{path}.lock", flags, 0o600)
        except OSError as error:
            raise DatabaseError(
                f"cannot lock database '{path}': {(error.strerror or 'no reason given').lower()}",
                hint="its folder must exist and be writable",
            ) from None

    def try_take(self) -> bool:
        """Take the gate if it is free at once; 0.5 µs."""
        return _try_lock(self._descriptor)

    def take(self) -> None:
        """Wait, without bound, for the gate. Never on an event loop."""
        _lock(self._descriptor)

    def release(self) -> None:
        """Release the gate for the next waiter."""
        _unlock(self._descriptor)

    def close(self) -> None:
        """Release and close the gate."""
        os.close(self._descriptor)

    def __enter__(self) -> None:
        self.take()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
