"""The doors of a run to files, to the printer and to streamed responses."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

# ---- The doors `files` and `storage`: files of one run, and stored files of a project
# A path is its parts, which the caller has checked; see `bbops.runtime.vendors._parts`. The
# server's doors are in `bbops_server.process.storage`, a test's in `bbops.compiler.testing`.

Parts = Sequence[str]


class Folder(Protocol):
    """The files of one run, by generated names."""

    async def append(self, name: str, data: bytes) -> None:
        """Append to a file.

        Raises:
            Unavailable: the disk is full, or cannot be written.
        """
        ...

    async def write(self, name: str, data: bytes) -> None:
        """Create or replace a file. Raises as `append`."""
        ...

    async def size(self, name: str) -> int | None:
        """Return the size of a file in bytes; None if the folder does not have it.

        Paths with `..` and links to other folders are not in the folder.
        """
        ...

    async def read(self, name: str, first: int, most: int) -> bytes:
        """Return at most `most` bytes of a file, from its byte `first` on.

        Raises:
            OSError: it is gone.
        """
        ...

    def open(self, name: str) -> BinaryIO:
        """Open a file for reading. Blocks. Raises: OSError: it is gone."""
        ...

    def remove(self) -> None:
        """Remove the files, soon."""
        ...


class Files(Protocol):
    """The files of runs."""

    def open(self) -> Folder:
        """Return a folder for one run, which is on the disk once it has a file."""
        ...


@dataclass(frozen=True, slots=True)
class RunFile:
    """A file of a run, as the content of a stored file."""

    folder: Folder
    name: str

    def open(self) -> BinaryIO:
        """Open it for reading. Blocks. Raises: OSError: it is gone."""
        return self.folder.open(self.name)


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry of a list. `path` is from the base directory, with forward slashes."""

    path: str
    size_bytes: int
    is_folder: bool


class OpenFile(Protocol):
    """An open file, whose content stays the same if the file is replaced."""

    @property
    def size_bytes(self) -> int:
        """The size in bytes."""
        ...

    @property
    def tag(self) -> str:
        """A tag that differs for each content; letters, digits and `-`."""
        ...

    async def read(self, first: int, most: int) -> bytes:
        """Return at most `most` bytes from the byte `first` on.

        Raises:
            OSError: it is gone.
        """
        ...


class Storage(Protocol):
    """The stored files of a project, below a base directory.

    Each call raises Failure: `storageFailed` if the disk or the vendor does not respond.
    """

    async def save(self, base: Parts, path: Parts, content: bytes | RunFile) -> int:
        """Create or replace a file; return its size in bytes.

        A concurrent reader gets the whole old file or the whole new one.

        Raises:
            Failure: `storageFull`, or 400 if a folder has this name, or a file has a folder's.
        """
        ...

    async def open(self, base: Parts, path: Parts) -> OpenFile | None:
        """Return a file; None without one."""
        ...

    async def delete(self, base: Parts, path: Parts) -> None:
        """Remove a file, if it exists."""
        ...

    async def list(
        self, base: Parts, path: Parts, *, recursive: bool, most: int
    ) -> Sequence[Listed]:
        """Return the entries of a folder by path, at most `most` + 1; none for a missing folder."""
        ...

    async def exists(self, base: Parts, path: Parts) -> bool:
        """Return whether a file exists."""
        ...


# ---- The door `printer`: pages become PDF files
# The server's door is in `bbops_server.process.printing`. A test has none: mocks answer.


@dataclass(frozen=True, slots=True)
class Page:
    """A page to print. Lengths are millimetres.

    Attributes:
        html: a document; empty if `url` is given.
        url: an address of http or https.
        width: of the paper, upright.
        height: likewise.
        landscape: whether the paper is landscape.
        margins: top, right, bottom, left.
        header: markup at the top of each page; empty for none.
        footer: likewise, at the bottom.
        selector: an element to wait for; empty for none.
        seconds: the timeout.
    """

    html: str
    url: str
    width: float
    height: float
    landscape: bool
    margins: tuple[float, float, float, float]
    header: str
    footer: str
    selector: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of a page; `is_document` for the page itself and its redirects."""

    method: str
    url: str
    headers: Mapping[str, str]
    is_document: bool


@dataclass(frozen=True, slots=True)
class Supplied:
    """The response to a request of a page."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Ask = Callable[[Asked], Awaitable[Supplied | None]]
"""Sends a request of a page; None if it is not allowed, or gets no response."""


class Printer(Protocol):
    """The printer."""

    def print(self, page: Page, ask: Ask) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a PDF file.

        Raises:
            Failure: `addon-needs` without a browser, `pdfTimeout`, or 503 if too many requests
                wait, or the printer has ended.
        """
        ...


# ---- The doors of streamed responses


class OpenResponse(Protocol):
    """A response whose body is read in parts; the other server waits until they are read."""

    @property
    def status(self) -> int:
        """The status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; names are in lower case."""
        ...

    async def read(self) -> bytes:
        """Return the next bytes once some have arrived; empty at the end.

        Raises:
            HttpFailure: it breaks off, exceeds the timeout of the request, or is too large.
        """
        ...

    async def close(self) -> None:
        """End the request, even in the middle of its response."""
        ...


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """A piece that is not text, such as a call of an agent's tool.

    Attributes:
        data: a JSON value.
    """

    name: str
    data: Any


class Pieces(Protocol):
    """The result of a step in pieces."""

    async def read(self) -> Sequence[str | StreamEvent] | None:
        """Return the next pieces once some have arrived; None at the end.

        Raises:
            Failure: it breaks off.
        """
        ...

    def result(self) -> Any:
        """Return the whole result of the step; only at the end."""
        ...

    async def close(self) -> None:
        """End the step, even in the middle."""
        ...
