"""The files of a project on disk, and the opened storages of a process."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TypeVar

from bbops.base.doors import Listed, OpenFile, Parts, RunFile
from bbops_server.process.host.run_folders import explain_disk
from bbops_server.process.storage.confined import ConfinedFolder
from bbops_server.process.storage.usage import StoredSize

T = TypeVar("T")


class DiskStorage:
    """The files below a folder, which is created when needed."""

    def __init__(self, root: Path, limit: StoredSize, *, in_project: bool = False) -> None:
        """Args: `in_project`: the root is a project's folder, and each base directory has a limit.

        Otherwise the base directories share the root and its limit.
        """
        self._root, self._limit, self._in_project = root, limit, in_project
        self._stores: dict[Path, ConfinedFolder] = {}
        self._opening = threading.Lock()

    async def save(self, base: Parts, path: Parts, content: bytes | RunFile) -> int:
        """Write a file, see `Storage`."""

        def save() -> int:
            store, inner = self._at(base)
            file = BytesIO(content) if isinstance(content, bytes) else content.open()
            with file:
                return store.save((*inner, *path), file)

        return await _in_thread(save)

    async def open(self, base: Parts, path: Parts) -> OpenFile | None:
        """Return a file, see `Storage`."""

        def open_() -> DiskFile | None:
            store, inner = self._at(base)
            descriptor = store.open((*inner, *path))
            return None if descriptor is None else DiskFile(descriptor)

        return await _in_thread(open_)

    async def delete(self, base: Parts, path: Parts) -> None:
        """Remove a file, see `Storage`."""

        def delete() -> None:
            store, inner = self._at(base)
            store.delete((*inner, *path))

        await _in_thread(delete)

    async def list(
        self, base: Parts, path: Parts, *, recursive: bool, most: int
    ) -> Sequence[Listed]:
        """Return the files and folders of a folder, see `Storage`."""

        def list_() -> Sequence[Listed]:
            store, inner = self._at(base)
            entries = store.list((*inner, *path), recursive=recursive, most=most)
            skipped = len("/".join(inner)) + 1 if inner else 0
            return [
                Listed(entry.path[skipped:], entry.size_bytes, entry.is_folder)
                for entry in entries
            ]  # fmt: skip

        return await _in_thread(list_)

    async def exists(self, base: Parts, path: Parts) -> bool:
        """Return whether a file exists."""

        def exists() -> bool:
            store, inner = self._at(base)
            return store.exists((*inner, *path))

        return await _in_thread(exists)

    def close(self) -> None:
        """Close all folders."""
        with self._opening:
            for store in self._stores.values():
                store.close()
            self._stores.clear()

    def _at(self, base: Parts) -> tuple[ConfinedFolder, Parts]:
        """Return the folder with the limit of a base directory, and the remaining parts."""
        first = base[:1] if self._in_project else ()
        root = self._root.joinpath(*first)
        with self._opening:
            if root not in self._stores:
                self._stores[root] = ConfinedFolder(root, self._limit, ignores=self._in_project)
            return self._stores[root], base[len(first) :]


class DiskFile:
    """An open file, closed when the object is collected."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)
        status = os.fstat(descriptor)
        self.size_bytes = status.st_size
        version = f"{status.st_mtime_ns} {status.st_size} {status.st_ino}"  # not to be exposed
        self.tag = sha256(version.encode()).hexdigest()[:24]

    async def read(self, first: int, most: int) -> bytes:
        """Return up to `most` bytes from `first`."""
        return await asyncio.to_thread(os.pread, self._descriptor, most, first)


def _in_thread(work: Callable[[], T]) -> Awaitable[T]:
    def run() -> T:
        with explain_disk("files"):
            return work()

    return asyncio.to_thread(run)
