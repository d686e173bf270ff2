"""The door `storage` of a job: what was read and done before comes from the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bbops.base.storage import Listed, OpenFile, Parts, RunFile, Storage
from bbops.runtime.work.recorded import Recorded


@dataclass(slots=True)
class JobStorage:
    """Does each call once, as far as the record goes."""

    door: Storage
    recorded: Recorded

    async def save(self, base: Parts, path: Parts, content: bytes | RunFile) -> int:
        """Write a file, see `Storage`."""
        return int(await self.recorded.once(lambda: self.door.save(base, path, content)))

    async def open(self, base: Parts, path: Parts) -> OpenFile | None:
        """Return a file, see `Storage`."""
        found = await self.door.open(base, path)
        told = await self.recorded.look(lambda: _told(found))
        return None if told is None else _JobFile(self, found, told)

    async def delete(self, base: Parts, path: Parts) -> None:
        """Remove a file, see `Storage`."""
        await self.recorded.once(lambda: self.door.delete(base, path))

    async def list(
        self, base: Parts, path: Parts, *, recursive: bool, most: int
    ) -> Sequence[Listed]:
        """Return what is in a folder, see `Storage`."""

        async def list_() -> list[list[Any]]:
            found = await self.door.list(base, path, recursive=recursive, most=most)
            return [[one.path, one.size_bytes, one.is_folder] for one in found]

        return [Listed(*one) for one in await self.recorded.look(list_)]

    async def exists(self, base: Parts, path: Parts) -> bool:
        """Return whether there is a file."""
        return bool(await self.recorded.look(lambda: self.door.exists(base, path)))


async def _told(found: OpenFile | None) -> list[Any] | None:
    return None if found is None else [found.size_bytes, found.tag]


class _JobFile:
    """A file as it was read the first time."""

    def __init__(self, storage: JobStorage, found: OpenFile | None, told: list[Any]) -> None:
        self._recorded, self._found = storage.recorded, found
        self.size_bytes, self.tag = int(told[0]), str(told[1])

    async def read(self, first: int, most: int) -> bytes:
        """Return a part of it."""

        async def read() -> bytes:
            if self._found is None:
                raise FileNotFoundError("the file is gone")
            return await self._found.read(first, most)

        return bytes(await self._recorded.look(read))
