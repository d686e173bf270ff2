"""Temporary folders for the files of a run, removed at its end.

Each process has its own folder for them, and holds a lock on it. A folder without a lock belongs to
a process that has ended.
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
    """The folders of a process below `root`, created when needed."""

    def __init__(self, root: Path, max_bytes: int | None = None) -> None:
        """Args: `max_bytes`: the limit of all runs together; None without a limit."""
        self._root, self._max_bytes, self._used = root, max_bytes, 0
        self._own: Path | None = None
        self._lock = -1
        self._mutex = threading.Lock()

    def take(self, size_bytes: int) -> None:
        """Count bytes before they are written; negative for removed bytes.

        Raises:
            Unavailable: the limit is exceeded.
        """
        with self._mutex:
            limit = self._max_bytes
            if limit is not None and size_bytes > 0 and self._used + size_bytes > limit:
                raise Unavailable(
                    "storageFull", f"uploads take more than {limit >> 20} MiB here",
                    hint="drafts have a quota", retry_seconds=30,
                )  # fmt: skip
            self._used += size_bytes

    def open(self) -> RunFolder:
        """Return a folder for a run, which is created with its first file."""
        return RunFolder(self)

    def make(self) -> Path:
        """Create a folder. Blocks briefly."""
        with self._mutex:
            if self._own is None:
                self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
                with _locked(self._root):
                    self._own = Path(tempfile.mkdtemp(dir=self._root))
                    self._lock = os.open(self._own, os.O_RDONLY)
                    fcntl.flock(self._lock, fcntl.LOCK_EX)
        return Path(tempfile.mkdtemp(dir=self._own))

    def sweep(self) -> None:
        """Remove the folders of processes that have ended. Blocks."""
        with suppress(OSError), _locked(self._root):
            for folder in self._root.iterdir():
                if folder != self._own and _is_abandoned(folder):
                    shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Remove all folders of this process."""
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            os.close(self._lock)
            self._own = None


class RunFolder:
    """The files of a run, by names that the server chooses."""

    def __init__(self, folders: RunFolders) -> None:
        self._folders = folders
        self._path: Path | None = None
        self._used = 0

    async def append(self, name: str, data: bytes) -> None:
        """Append to a file, in a thread.

        Raises:
            Unavailable: the disk is full, or cannot be written.
        """
        await asyncio.to_thread(self._write, name, data, "ab")

    async def write(self, name: str, data: bytes) -> None:
        """Create or replace a file, in a thread. Raises as `append`."""
        await asyncio.to_thread(self._write, name, data, "wb")

    async def size(self, name: str) -> int | None:
        """Return the size of a file, in a thread; None if it does not exist."""
        return await asyncio.to_thread(self._size, name)

    async def read(self, name: str, first: int, most: int) -> bytes:
        """Return up to `most` bytes of a file from offset `first`, in a thread.

        Raises:
            OSError: the file does not exist.
        """
        return await asyncio.to_thread(self._read, name, first, most)

    def open(self, name: str) -> BinaryIO:
        """Open a file for reading. Blocks. Raises: OSError: the file does not exist."""
        return self._find(name).open("rb")

    def remove(self) -> None:
        """Remove the files soon, in a thread."""
        self._folders.take(-self._used)
        self._used = 0
        if self._path is not None:
            path, self._path = self._path, None
            with suppress(RuntimeError):  # the process ends and removes all files
                asyncio.get_running_loop().run_in_executor(None, _remove, path)

    def _write(self, name: str, data: bytes, mode: str) -> None:
        self._folders.take(len(data))  # replaced bytes stay counted, which does not matter
        self._used += len(data)
        with explain_disk("uploads"):
            if self._path is None:
                self._path = self._folders.make()
            with (self._path / name).open(mode) as file:
                file.write(data)

    def _size(self, name: str) -> int | None:
        try:
            path = self._find(name)
            return path.stat().st_size if path.is_file() else None
        except (OSError, ValueError, RuntimeError):  # not a path, or a loop of links
            return None

    def _read(self, name: str, first: int, most: int) -> bytes:
        with self._find(name).open("rb") as file:
            file.seek(first)
            return file.read(most)

    def _find(self, name: str) -> Path:
        """Return the path of a file. Raises: FileNotFoundError: it is not in this folder."""
        if self._path is None:
            raise FileNotFoundError(name)
        folder = self._path.resolve()
        path = (folder / name).resolve(strict=True)
        if not path.is_relative_to(folder):
            raise FileNotFoundError(name)
        return path


@contextmanager
def explain_disk(what: str) -> Iterator[None]:
    """Translate errors of the disk; `what` is written to it.

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
    """Lock the root, as a new folder is not locked for a moment, and could be swept."""
    lock = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _is_abandoned(folder: Path) -> bool:
    """Return whether no process holds a lock on the folder."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
