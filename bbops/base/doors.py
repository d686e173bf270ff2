"""The doors of a run to files, to the printer and to streamed answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

# ---- The doors `files` and `storage`: files of one run, and those that a project keeps
# A path is its parts, which the caller has checked; see `bbops.runtime.vendors._parts`. The
# server's doors are in `bbops_server.process.storage`, a test's in `bbops.compiler.testing`.

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


# ---- The door `printer`: pages become PDF files
# The server's door is in `bbops_server.process.printing`. A test has none: mocks answer.


@dataclass(frozen=True, slots=True)
class Page:
    """What is printed, and how. Lengths are millimetres.

    Attributes:
        html: a document; empty where there is a `url`.
        url: an address of http or https.
        width: of the paper, upright.
        height: likewise.
        landscape: the paper lies on its side.
        margins: top, right, bottom, left.
        header: markup at the top of each page; empty for none.
        footer: likewise, at the bottom.
        selector: what must be in the document before it is printed; empty for nothing.
        seconds: after which it is given up.
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
    """What a page asks for; `is_document` where it is the page itself, or where that has moved."""

    method: str
    url: str
    headers: Mapping[str, str]
    is_document: bool


@dataclass(frozen=True, slots=True)
class Supplied:
    """What it is given."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Ask = Callable[[Asked], Awaitable[Supplied | None]]
"""Asks the outside for a page; None where that may not be asked, or does not answer."""


class Printer(Protocol):
    """What prints."""

    def print(self, page: Page, ask: Ask) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a PDF file.

        Raises:
            Failure: `addon-needs` where there is no browser, `pdfTimeout`, 503 where too many
                wait, or it has ended.
        """
        ...


# ---- The doors through which answers come piece by piece


class OpenResponse(Protocol):
    """An answer whose body is read as it comes; what nobody reads waits at the other server."""

    @property
    def status(self) -> int:
        """Its status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers; names are in lower case."""
        ...

    async def read(self) -> bytes:
        """Return what has come since, once something has; nothing at the end.

        Raises:
            HttpFailure: it breaks off, takes longer than the request says, or is too large.
        """
        ...

    async def close(self) -> None:
        """End the request, also in the middle of its answer."""
        ...


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """A piece that is not a text, such as a call of an agent's tool.

    Attributes:
        data: a value of JSON.
    """

    name: str
    data: Any


class Pieces(Protocol):
    """What a step gives piece by piece."""

    async def read(self) -> Sequence[str | StreamEvent] | None:
        """Return the pieces that have come since, once something has; None at the end.

        Raises:
            Failure: it breaks off.
        """
        ...

    def result(self) -> Any:
        """Return what the step would have returned as a whole; only at the end."""
        ...

    async def close(self) -> None:
        """End it, also in the middle."""
        ...
