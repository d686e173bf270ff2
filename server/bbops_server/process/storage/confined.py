"""A folder with the files of a project: paths cannot leave it, and files are complete.

Each part of a path is opened relative to its parent without following links, so that replacing a
folder by a link between check and use has no effect. All functions block.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from bbops.base.doors import Listed, Parts
from bbops.runtime.values.failures import Thrown
from bbops_server.process.storage.usage import INTERNAL_PREFIX, StorageUsage, StoredSize, sweep

IGNORE: Final = ".gitignore"
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MISSING_ERRORS: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.ENOENT, errno.EMLINK})
_MAX_TRIES: Final = 10
"""The attempts of a save whose empty folder is removed concurrently."""
_PIECE_BYTES: Final = 1 << 20
_MAX_DEPTH: Final = 40


class ConfinedFolder:
    """The files below a folder that only the server writes to."""

    def __init__(self, root: Path, limit: StoredSize, *, ignores: bool = False) -> None:
        """Open a folder, and create it if needed.

        Args:
            root: the folder.
            limit: the most bytes and files.
            ignores: create a `.gitignore` in the folder.
        """
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._root = os.open(root, _FOLDER)
        if ignores:
            with suppress(FileExistsError):
                descriptor = os.open(IGNORE, _new_file_flags(), 0o600, dir_fd=self._root)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(b"*\n")
        self.usage = StorageUsage(self._root, limit, self._count)

    def close(self) -> None:
        """Close the descriptors."""
        self.usage.close()
        os.close(self._root)

    # ---- files
    def save(self, path: Parts, content: BinaryIO) -> int:
        """Write a file, see `Storage.save`."""
        for _ in range(_MAX_TRIES - 1):
            with suppress(FileNotFoundError):
                return self._save(path, content)
            content.seek(0)
        return self._save(path, content)

    def _save(self, path: Parts, content: BinaryIO) -> int:
        *folders, name = path
        with self._folder(folders, makes=True) as at, _partial(at) as partial:
            size = _write(partial, at, content)
            with self.usage.changing() as count:
                before = _size(at, name)
                count(size - (before or 0), 0 if before is not None else 1)
                try:
                    os.rename(partial, name, src_dir_fd=at, dst_dir_fd=at)
                except (IsADirectoryError, NotADirectoryError):
                    raise Thrown(400, "a folder has this name already") from None
            os.fsync(at)
        return size

    def open(self, path: Parts) -> int | None:
        """Return the descriptor of a file; None if it does not exist."""
        *folders, name = path
        try:
            with self._folder(folders) as at:
                descriptor = os.open(name, _FILE, dir_fd=at)
        except OSError as error:
            if error.errno in _MISSING_ERRORS | {errno.ENXIO, errno.EACCES}:
                return None
            raise
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        return None

    def exists(self, path: Parts) -> bool:
        """Return whether a file exists."""
        *folders, name = path
        try:
            with self._folder(folders) as at:
                return _size(at, name) is not None
        except OSError as error:
            if error.errno in _MISSING_ERRORS:
                return False
            raise

    def delete(self, path: Parts) -> None:
        """Delete a file, and the folders that become empty."""
        *folders, name = path
        try:
            with self._folder(folders) as at, self.usage.changing() as count:
                size = _size(at, name)
                if size is None:
                    return
                os.unlink(name, dir_fd=at)
                count(-size, -1)
        except OSError as error:
            if error.errno in _MISSING_ERRORS:
                return
            raise
        self._prune(folders)

    def _prune(self, folders: Sequence[str]) -> None:
        for end in range(len(folders), 0, -1):
            try:
                with self._folder(folders[: end - 1]) as at:
                    os.rmdir(folders[end - 1], dir_fd=at)
            except OSError:
                return

    def list(self, path: Parts, *, recursive: bool, most: int) -> list[Listed]:
        """Return the files and folders of a folder, at most `most` + 1."""
        entries: list[Listed] = []
        try:
            with self._folder(path) as at:
                for entry in _walk(at, "/".join(path), recursive=recursive):
                    entries.append(entry)
                    if len(entries) > most:
                        break
        except OSError as error:
            if error.errno not in _MISSING_ERRORS:
                raise
        return sorted(entries, key=lambda entry: entry.path)

    def _count(self) -> StoredSize:
        """Count all bytes and files, and remove partial files of killed saves."""
        size = files = 0
        for entry in _walk(self._root, "", recursive=True, visit=sweep):
            size, files = size + entry.size_bytes, files + (not entry.is_folder)
        return StoredSize(size, files)

    @contextmanager
    def _folder(self, parts: Parts, *, makes: bool = False) -> Iterator[int]:
        """Yield the descriptor of a folder, which `makes` creates.

        Raises:
            OSError: it does not exist, or a part of its path is a link or a file.
            Thrown: with `makes`, a part of its path is a link or a file.
        """
        at = os.dup(self._root)
        try:
            for part in parts:
                inner = _enter(at, part, makes=makes)
                os.close(at)
                at = inner
            yield at
        finally:
            os.close(at)


def _enter(at: int, name: str, *, makes: bool) -> int:
    """Return the descriptor of a subfolder."""
    try:
        try:
            return os.open(name, _FOLDER, dir_fd=at)
        except FileNotFoundError:
            if not makes:
                raise
            with suppress(FileExistsError):  # another request was first
                os.mkdir(name, 0o700, dir_fd=at)
            return os.open(name, _FOLDER, dir_fd=at)
    except OSError as error:
        if makes and error.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise Thrown(400, "a part of the path is not a folder") from None
        raise


def _new_file_flags() -> int:
    return os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def _partial(folder: int) -> Iterator[str]:
    """Yield the name of a temporary file, which is removed afterwards."""
    name = f"{INTERNAL_PREFIX}new-{secrets.token_hex(8)}"
    try:
        yield name
    finally:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)


def _write(name: str, folder: int, content: BinaryIO) -> int:
    """Write a new file and sync it to disk; return its size."""
    with os.fdopen(os.open(name, _new_file_flags(), 0o600, dir_fd=folder), "wb") as file:
        _copy(content, file)
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


def _copy(content: BinaryIO, file: BinaryIO) -> None:
    """Copy a file, in the kernel if possible."""
    try:
        source, target = content.fileno(), file.fileno()
        while os.copy_file_range(source, target, _PIECE_BYTES):
            pass
    except (OSError, AttributeError) as error:
        if getattr(error, "errno", None) in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}:
            raise
        content.seek(0)
        file.seek(0)
        shutil.copyfileobj(content, file, _PIECE_BYTES)
    else:
        file.seek(0, os.SEEK_END)


def _size(folder: int, name: str) -> int | None:
    """Return the size of a file; None if it does not exist, or is not a regular file."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _walk(
    at: int, prefix: str, *, recursive: bool, visit: Callable[[int], None] | None = None,
    depth: int = 0,
) -> Iterator[Listed]:  # fmt: skip
    if visit is not None:
        visit(at)
    for name, is_folder in _names(at):
        path = f"{prefix}/{name}" if prefix else name
        if not is_folder:
            size = _size(at, name)
            if size is not None:
                yield Listed(path, size, is_folder=False)
            continue
        yield Listed(path, 0, is_folder=True)
        if recursive and depth < _MAX_DEPTH:
            with suppress(OSError), closing(_OpenFolder(at, name)) as inner:
                yield from _walk(
                    inner.at, path, recursive=True, visit=visit, depth=depth + 1
                )  # fmt: skip


def _names(at: int) -> list[tuple[str, bool]]:
    with os.scandir(at) as entries:
        return sorted(
            (entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries
            if not entry.name.startswith(INTERNAL_PREFIX) and entry.name != IGNORE
            and (entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False))
        )  # fmt: skip


class _OpenFolder:
    """The open descriptor of a subfolder."""

    def __init__(self, at: int, name: str) -> None:
        self.at = os.open(name, _FOLDER, dir_fd=at)

    def close(self) -> None:
        os.close(self.at)
