"""The files of a project at one moment: paths, blob ids, bytes. Nothing is interpreted here.

`FolderTree` reads a folder; `bbops.source.git.store` reads a commit.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, NewType, Protocol

from bbops.base.errors import BbopsError

BlobId = NewType("BlobId", str)
"""The git id of a file's content."""

FilePath = NewType("FilePath", str)
"""A file's path from the project's root, with forward slashes."""

LOCAL_FOLDERS = frozenset({".bbops", "node_modules", "__pycache__", ".venv"})
"""Folders that belong to one machine; no tree lists what is in them."""

STORE = ".bbops-usage"
"""A folder with a file of this name holds what users have stored, and nothing of a project."""

_CHUNK = 1 << 16
# Control characters, line separators, signs that turn the direction of writing, a backslash, and
# what stands for bytes that are not UTF-8.
_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\\\\\ufffd]")
_NO_BLOB = BlobId("")
_GONE = (FileNotFoundError, NotADirectoryError)


class Entry(NamedTuple):
    """One name in a tree. `kind` is `file`, `symlink`, `submodule` or `other`.

    Only a `file` has bytes to read; `other` is also a file whose name cannot be used safely, and
    one that may not be read.
    """

    path: FilePath
    blob: BlobId
    size_bytes: int
    kind: str


class Tree(Protocol):
    """The files below a project's root. `revision` is `main@sha1:…`, or `working-tree`."""

    revision: str

    def entries(self) -> Sequence[Entry]:
        """Return every file, sorted by path from the project's root."""
        ...

    def read(self, blobs: Sequence[BlobId]) -> dict[BlobId, bytes]:
        """Return the bytes behind each id; an id that is gone by now is left out."""
        ...


def blob_id(data: bytes) -> BlobId:
    """Return the id git gives a file with these bytes."""
    return BlobId(_start_hash(len(data), data).hexdigest())


def is_local(path: str) -> bool:
    """Return whether `path` lies in a folder that belongs to one machine."""
    return not LOCAL_FOLDERS.isdisjoint(path.split("/"))


def is_safe(path: str) -> bool:
    """Return whether a path stays below its root on every system, and prints as what it is."""
    return not _ODD.search(path) and not any(map(_leads_out, path.split("/")))


def _leads_out(segment: str) -> bool:
    return segment in {"", ".", ".."} or segment.lower() == ".git"


def _start_hash(size_bytes: int, data: bytes = b"") -> hashlib._Hash:
    return hashlib.sha1(b"blob %d\0" % size_bytes + data, usedforsecurity=False)


class MemoryTree:
    """Files that stand in a dict, for tests and documentation."""

    def __init__(self, files: Mapping[str, bytes | str], revision: str = "memory") -> None:
        self.revision = revision
        self._files = {
            path: data.encode() if isinstance(data, str) else data for path, data in files.items()
        }
        self._entries = [
            _entry(path, blob_id(data), len(data), "file")
            for path, data in sorted(self._files.items())
        ]
        self._blobs = {one.blob: self._files[one.path] for one in self._entries}

    def entries(self) -> Sequence[Entry]:
        """Return every file, sorted by path."""
        return self._entries

    def read(self, blobs: Sequence[BlobId]) -> dict[BlobId, bytes]:
        """Return the bytes behind each id."""
        return {blob: self._blobs[blob] for blob in blobs if blob in self._blobs}


_Stamp = tuple[int, int, int]
_NO_STAMP: _Stamp = (-1, -1, -1)


class _Seen(NamedTuple):
    stamp: _Stamp
    entry: Entry


class FolderTree:
    """A folder as it is now: git's index and ignore rules play no part, symlinks are not followed.

    Call `entries` again to see changes; only files whose time, size or inode changed are read.
    A file of any size is hashed in small pieces, and `read` never takes more than was listed.
    """

    revision = "working-tree"

    def __init__(self, root: Path) -> None:
        self._root = root
        self._seen: dict[str, _Seen] = {}

    def entries(self) -> Sequence[Entry]:
        """Return every file, sorted by path.

        Raises:
            BbopsError: the root itself cannot be read.
        """
        self._require_root()
        seen = {one.entry.path: one for one in self._walk()}
        self._seen = {path: seen[path] for path in sorted(seen)}
        return [one.entry for one in self._seen.values()]

    def read(self, blobs: Sequence[BlobId]) -> dict[BlobId, bytes]:
        """Return the bytes behind ids that `entries` listed, unless the file has changed since."""
        wanted, found = set(blobs), dict[BlobId, bytes]()
        for one in self._seen.values():
            entry = one.entry
            if entry.kind != "file" or entry.blob not in wanted or entry.blob in found:
                continue
            if (data := self._read(entry)) is not None:
                found[entry.blob] = data
        return found

    def _require_root(self) -> None:
        try:
            with os.scandir(self._root):
                return
        except OSError as error:
            reason = (error.strerror or "unknown error").lower()
            message = f"cannot read folder '{self._root}': {reason}"
            raise BbopsError(message, hint="give the folder that contains project.yaml") from None

    def _walk(self) -> Iterator[_Seen]:
        folders = [""]
        while folders:
            folder = folders.pop()
            items = self._list(folder)
            if items is None:
                yield _Seen(_NO_STAMP, _entry(folder, _NO_BLOB, 0, "other"))
            for item in items or ():
                if item.name != ".git" and item.name not in LOCAL_FOLDERS:
                    yield from self._visit(item, f"{folder}/{item.name}".lstrip("/"), folders)

    def _list(self, folder: str) -> list[os.DirEntry[str]] | None:
        try:
            with os.scandir(self._root / folder) as items:
                found = list(items)
            return [] if any(one.name == STORE for one in found) else found
        except _GONE:
            return []
        except OSError:
            return None

    def _visit(self, item: os.DirEntry[str], path: str, folders: list[str]) -> Iterator[_Seen]:
        try:
            status = item.stat(follow_symlinks=False)
        except OSError:
            return
        if not stat.S_ISDIR(status.st_mode):
            yield from self._see(path, status)
        elif os.path.lexists(self._root / path / ".git"):
            yield _Seen(_NO_STAMP, _entry(path, _NO_BLOB, 0, "submodule"))
        else:
            folders.append(path)

    def _see(self, path: str, status: os.stat_result) -> Iterator[_Seen]:
        known = self._seen.get(_printable(path))
        if known is not None and known.stamp == _stamp(status):
            yield known
            return
        try:
            yield self._measure(path, status)
        except _GONE:
            return
        except OSError:
            yield _Seen(_NO_STAMP, _entry(path, _NO_BLOB, status.st_size, "other"))

    def _measure(self, path: str, status: os.stat_result) -> _Seen:
        if stat.S_ISLNK(status.st_mode):
            target = os.fsencode(os.readlink(self._root / path))  # noqa: PTH115 - a Path tidies it
            entry = _entry(path, blob_id(target), len(target), "symlink")
            return _Seen(_stamp(status), entry)
        if not stat.S_ISREG(status.st_mode):
            return _Seen(_NO_STAMP, _entry(path, _NO_BLOB, 0, "other"))
        with _opened(self._root / path) as file:
            status = os.fstat(file)
            digest = _start_hash(status.st_size)
            for chunk in _chunks(file, status.st_size):
                digest.update(chunk)
        entry = _entry(path, BlobId(digest.hexdigest()), status.st_size, "file")
        return _Seen(_stamp(status), entry)

    def _read(self, entry: Entry) -> bytes | None:
        try:
            with _opened(self._root / entry.path) as file:
                data = b"".join(_chunks(file, entry.size_bytes))
        except OSError:
            return None
        return data if blob_id(data) == entry.blob else None


def _entry(path: str, blob: BlobId, size_bytes: int, kind: str) -> Entry:
    path = _printable(path)
    return Entry(FilePath(path), blob, size_bytes, kind if is_safe(path) else "other")


def _printable(path: str) -> str:
    return path.encode(errors="surrogateescape").decode(errors="replace")


def _stamp(status: os.stat_result) -> _Stamp:
    return status.st_mtime_ns, status.st_size, status.st_ino


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Open for reading what was a file a moment ago; never follow a link or wait for a pipe."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    file = os.open(path, flags)
    try:
        yield file
    finally:
        os.close(file)


def _chunks(file: int, size_bytes: int) -> Iterator[bytes]:
    while size_bytes > 0 and (chunk := os.read(file, min(_CHUNK, size_bytes))):
        size_bytes -= len(chunk)
        yield chunk
