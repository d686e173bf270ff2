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
from typing import BinaryIO

from bbops.runtime.values.failures import Unavailable


class RunFolders:
    """The folders of a process, below `root`; nothing is made before it is needed."""

    def __init__(self, root: Path, most_bytes: int | None = None) -> None:
        """Bytes of all runs together beyond `most_bytes` are refused, where that is given."""
        self._root, self._most, self._used = root, most_bytes, 0
        self._own: Path | None = None
        self._lock = -1
        self._making = threading.Lock()

    def take(self, size_bytes: int) -> None:
        """Count bytes that are about to be written, or negative ones that were removed.

        Raises:
            Unavailable: there are too many.
        """
        with self._making:
            if self._most is not None and size_bytes > 0 and self._used + size_bytes > self._most:
                raise Unavailable(
                    "storageFull", f"uploads take more than {self._most >> 20} MiB here",
                    hint="drafts have a quota", retry_seconds=30,
                )  # fmt: skip
            self._used += size_bytes

    def open(self) -> RunFolder:
        """Return the folder of a run."""
        return RunFolder(self)

    def make(self) -> Path:
        """Return a new folder. Blocks for a moment."""
        with self._making:
            if self._own is None:
                self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
                with _locked(self._root):
                    self._own = Path(tempfile.mkdtemp(dir=self._root))
                    self._lock = os.open(self._own, os.O_RDONLY)
                    fcntl.flock(self._lock, fcntl.LOCK_EX)
        return Path(tempfile.mkdtemp(dir=self._own))

    def sweep(self) -> None:
        """Remove what processes have left that are gone. Blocks for as long as that takes."""
        with suppress(OSError), _locked(self._root):
            for folder in self._root.iterdir():
                if folder != self._own and _is_abandoned(folder):
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
        self._used = 0

    async def append(self, name: str, data: bytes) -> None:
        """Write behind what a file holds, off the event loop.

        Raises:
            Unavailable: the disk is full, or cannot be written.
        """
        await asyncio.to_thread(self._put, name, data, "ab")

    async def write(self, name: str, data: bytes) -> None:
        """Make a file, in the place of one that is there. Raises as `append`."""
        await asyncio.to_thread(self._put, name, data, "wb")

    async def size(self, name: str) -> int | None:
        """Return the bytes of a file, off the event loop; None where there is none."""
        return await asyncio.to_thread(self._size, name)

    async def read(self, name: str, first: int, most: int) -> bytes:
        """Return a part of a file, off the event loop.

        Raises:
            OSError: it is gone.
        """
        return await asyncio.to_thread(self._read, name, first, most)

    def open(self, name: str) -> BinaryIO:
        """Return a file to read; blocks. Raises: OSError: it is gone."""
        return self._find(name).open("rb")

    def remove(self) -> None:
        """Remove the files, soon."""
        self._folders.take(-self._used)
        self._used = 0
        if self._path is not None:
            path, self._path = self._path, None
            with suppress(RuntimeError):  # the process ends, and removes them all
                asyncio.get_running_loop().run_in_executor(None, _remove, path)

    def _put(self, name: str, data: bytes, mode: str) -> None:
        self._folders.take(len(data))  # what is written over counts on, which no run notices
        self._used += len(data)
        with explain_disk("uploads"):
            if self._path is None:
                self._path = self._folders.make()
            with (self._path / name).open(mode) as file:
                file.write(data)

    def _size(self, name: str) -> int | None:
        try:
            found = self._find(name)
            return found.stat().st_size if found.is_file() else None
        except (OSError, ValueError, RuntimeError):  # no path at all, or links in a circle
            return None

    def _read(self, name: str, first: int, most: int) -> bytes:
        with self._find(name).open("rb") as file:
            file.seek(first)
            return file.read(most)

    def _find(self, name: str) -> Path:
        """Return where a file really lies, which is in this folder."""
        if self._path is None:
            raise FileNotFoundError(name)
        folder = self._path.resolve()
        found = (folder / name).resolve(strict=True)
        if not found.is_relative_to(folder):
            raise FileNotFoundError(name)
        return found


@contextmanager
def explain_disk(what: str) -> Iterator[None]:
    """Say why `what` cannot be written.

    Raises:
        Unavailable: the disk is full, or cannot be written.
    """
    try:
        yield
    except OSError as error:
        if error.errno in {ENOSPC, EDQUOT}:
            raise Unavailable(
                "storageFull", f"the disk for {what} is full",
                hint="free some space in the server's state folder", retry_seconds=30,
            ) from None  # fmt: skip
        raise Unavailable(
            "storageFailed",
            f"{what} cannot be written",
            hint=f"check the server's state folder: {(error.strerror or 'unknown').lower()}",
            retry_seconds=30,
        ) from None


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Let no other process make or sweep folders: one that is made is locked a moment later."""
    lock = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _is_abandoned(folder: Path) -> bool:
    """Return whether no process holds the folder."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
