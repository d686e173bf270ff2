"""Keep the files of a run in a folder of its own, which is gone when the run has ended.

Each process has a folder of its own for them, and holds a lock on it: what a process that died has
left behind can be told from what another one uses.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, ENOSPC
from pathlib import Path

from bbops.runtime.failures import Unavailable


class RunFolders:
    """The folders of a process, below `root`; nothing is made before it is needed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._own: Path | None = None
        self._lock = -1
        self._making = threading.Lock()

    def open(self) -> RunFolder:
        """Return the folder of a run."""
        return RunFolder(self)

    def make(self) -> Path:
        """Return a new folder. Blocks for a moment."""
        with self._making:
            if self._own is None:
                self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
                with _held(self._root):
                    self._own = Path(tempfile.mkdtemp(dir=self._root))
                    self._lock = os.open(self._own, os.O_RDONLY)
                    fcntl.flock(self._lock, fcntl.LOCK_EX)
        return Path(tempfile.mkdtemp(dir=self._own))

    def sweep(self) -> None:
        """Remove what processes have left that are gone. Blocks for as long as that takes."""
        with suppress(OSError), _held(self._root):
            for folder in self._root.iterdir():
                if folder != self._own and _is_left(folder):
                    shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Remove everything."""
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            os.close(self._lock)
            self._own = None


class RunFolder:
    """One run's files, by names of ours."""

    def __init__(self, folders: RunFolders) -> None:
        self._folders = folders
        self._path: Path | None = None

    async def append(self, name: str, data: bytes) -> None:
        """Write behind what a file holds, off the event loop.

        Raises:
            Unavailable: the disk is full, or cannot be written.
        """
        await asyncio.to_thread(self._append, name, data)

    def remove(self) -> None:
        """Remove the files, soon."""
        if self._path is not None:
            path, self._path = self._path, None
            with suppress(RuntimeError):  # the process ends, and removes them all
                asyncio.get_running_loop().run_in_executor(None, _remove, path)

    def _append(self, name: str, data: bytes) -> None:
        with _told():
            if self._path is None:
                self._path = self._folders.make()
            with (self._path / name).open("ab") as file:
                file.write(data)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in {ENOSPC, EDQUOT}:
            raise Unavailable(
                "storageFull", "the disk for uploads is full",
                hint="free some space in the server's state folder", retry_seconds=30,
            ) from None  # fmt: skip
        raise Unavailable(
            "storageFailed",
            "uploads cannot be written",
            hint=f"see to the server's state folder: {(error.strerror or 'unknown').lower()}",
            retry_seconds=30,
        ) from None


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _held(root: Path) -> Iterator[None]:
    """Let no other process make or sweep folders: one that is made is locked a moment later."""
    lock = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _is_left(folder: Path) -> bool:
    """Return whether no process holds the folder."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
