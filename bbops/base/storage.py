"""The doors `files` and `storage`: files of one run, and those that a project keeps.

A path is its parts; whoever calls has looked at them, see `bbops.runtime.vendors._parts`. The
server's doors are in `bbops_server.process.storage`, a test's in `bbops.compiler.testing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

Parts = Sequence[str]


class Folder(Protocol):
    """The files of one run, by names of ours."""

    async def append(self, name: str, data: bytes) -> None:
        """Write behind what a file holds.

        Raises:
            Unavailable: the disk is full, or cannot be written.
        """
        ...

    async def write(self, name: str, data: bytes) -> None:
        """Make a file, in the place of one that is there. Raises as `append`."""
        ...

    async def size(self, name: str) -> int | None:
        """Return the bytes of a file; None where the folder has none of this name.

        What lies outside, also behind `..` or a link, is not in the folder.
        """
        ...

    async def read(self, name: str, first: int, most: int) -> bytes:
        """Return at most `most` bytes of a file that was there, from its byte `first` on.

        Raises:
            OSError: it is gone.
        """
        ...

    def open(self, name: str) -> BinaryIO:
        """Return a file to read. Blocks. Raises: OSError: it is gone."""
        ...

    def remove(self) -> None:
        """Remove the files, soon."""
        ...


class Files(Protocol):
    """Where runs keep files."""

    def open(self) -> Folder:
        """Return a folder for one run; on the disk once something is in it."""
        ...


@dataclass(frozen=True, slots=True)
class RunFile:
    """A file of a run, as the content of one that is kept."""

    folder: Folder
    name: str

    def open(self) -> BinaryIO:
        """Return it to be read. Blocks. Raises: OSError: it is gone."""
        return self.folder.open(self.name)


@dataclass(frozen=True, slots=True)
class Listed:
    """One name in a list. `path` is from the base directory, with forward slashes."""

    path: str
    size_bytes: int
    is_folder: bool


class OpenFile(Protocol):
    """A file as it was when it was opened, whatever takes its place meanwhile."""

    @property
    def size_bytes(self) -> int:
        """How long it is."""
        ...

    @property
    def tag(self) -> str:
        """Another one for each content; letters, digits and `-`."""
        ...

    async def read(self, first: int, most: int) -> bytes:
        """Return at most `most` bytes from the byte `first` on.

        Raises:
            OSError: it is gone.
        """
        ...


class Storage(Protocol):
    """Where a project keeps files, below a base directory.

    Each call raises Failure: `storageFailed` where the disk or the vendor does not answer.
    """

    async def save(self, base: Parts, path: Parts, content: bytes | RunFile) -> int:
        """Write a file, in the place of one that is there; return its size in bytes.

        Whoever reads meanwhile has the old one or the new one whole.

        Raises:
            Failure: `storageFull`, or 400 where a folder has that name or a file that of a folder.
        """
        ...

    async def open(self, base: Parts, path: Parts) -> OpenFile | None:
        """Return a file; None where there is none."""
        ...

    async def delete(self, base: Parts, path: Parts) -> None:
        """Remove a file; one that is not there is fine."""
        ...

    async def list(
        self, base: Parts, path: Parts, *, recursive: bool, most: int
    ) -> Sequence[Listed]:
        """Return what is in a folder by path, at most `most` + 1; nothing where there is none."""
        ...

    async def exists(self, base: Parts, path: Parts) -> bool:
        """Return whether there is a file."""
        ...
