"""The door `storage` of a test: files that are kept in memory."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from bbops.base.storage import Listed, Parts, RunFile
from bbops.runtime.values.failures import Thrown


class KeptFile:
    """A file in memory."""

    def __init__(self, data: bytes) -> None:
        self._data, self.size_bytes = data, len(data)
        self.tag = sha256(data).hexdigest()[:24]

    async def read(self, first: int, most: int) -> bytes:
        """Return a part of it."""
        return self._data[first : first + most]


class KeptStorage:
    """Keeps files in memory, by their whole path."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, ...], bytes] = {}

    async def save(self, base: Parts, path: Parts, content: bytes | RunFile) -> int:
        """Keep a file, see `Storage`."""
        whole = (*base, *path)
        folders = {one[:end] for one in self.files for end in range(1, len(one))}
        if whole in folders or any(whole[:end] in self.files for end in range(1, len(whole))):
            raise Thrown(400, "a part of the path is not a folder")
        if isinstance(content, RunFile):
            with content.open() as file:
                content = file.read()
        self.files[whole] = content
        return len(content)

    async def open(self, base: Parts, path: Parts) -> KeptFile | None:
        """Return a file, see `Storage`."""
        found = self.files.get((*base, *path))
        return None if found is None else KeptFile(found)

    async def delete(self, base: Parts, path: Parts) -> None:
        """Forget a file."""
        self.files.pop((*base, *path), None)

    async def list(
        self, base: Parts, path: Parts, *, recursive: bool, most: int
    ) -> Sequence[Listed]:
        """Return what is in a folder, see `Storage`."""
        start, found = (*base, *path), dict[str, Listed]()
        for whole, data in self.files.items():
            inner = whole[len(start) :]
            if whole[: len(start)] != start or not inner:
                continue
            for end in range(1, len(inner) + 1 if recursive else 2):
                name = "/".join((*path, *inner[:end]))
                is_folder = end < len(inner)
                found[name] = Listed(name, 0 if is_folder else len(data), is_folder)
        return [found[name] for name in sorted(found)][: most + 1]

    async def exists(self, base: Parts, path: Parts) -> bool:
        """Return whether there is a file."""
        return (*base, *path) in self.files
