"""One folder whose files a project keeps: no path leaves it, and no reader sees half a file.

Each part of a path is opened relative to the one before, and never where it is a link: what takes
the place of a folder between a look and a use changes nothing. All of it blocks.
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

from bbops.base.storage import Listed, Parts
from bbops.runtime.values.failures import Thrown
from bbops_server.process.storage.usage import INTERNAL_PREFIX, StorageUsage, StoredSize, sweep

IGNORE: Final = ".gitignore"
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MISSING_ERRORS: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.ENOENT, errno.EMLINK})
_MAX_TRIES: Final = 10
"""How often a save begins anew because its folder, which was empty, has just been removed."""
_PIECE_BYTES: Final = 1 << 20
_MAX_DEPTH: Final = 40


class ConfinedFolder:
    """The files below a folder that only the server writes to."""

    def __init__(self, root: Path, most: StoredSize, *, ignores: bool = False) -> None:
        """Open it; what is not there is made.

        Args:
            root: of the store.
            most: what it may hold.
            ignores: git is told to leave it out.
        """
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._root = os.open(root, _FOLDER)
        if ignores:
            with suppress(FileExistsError):
                made = os.open(IGNORE, _new_file_flags(), 0o600, dir_fd=self._root)
                with os.fdopen(made, "wb") as file:
                    file.write(b"*\n")
        self.usage = StorageUsage(self._root, most, self._count)

    def close(self) -> None:
        """Close it."""
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
        """Return the descriptor of a file; None where there is none."""
        *folders, name = path
        try:
            with self._folder(folders) as at:
                found = os.open(name, _FILE, dir_fd=at)
        except OSError as error:
            if error.errno in _MISSING_ERRORS | {errno.ENXIO, errno.EACCES}:
                return None
            raise
        if stat.S_ISREG(os.fstat(found).st_mode):
            return found
        os.close(found)
        return None

    def exists(self, path: Parts) -> bool:
        """Return whether there is a file."""
        *folders, name = path
        try:
            with self._folder(folders) as at:
                return _size(at, name) is not None
        except OSError as error:
            if error.errno in _MISSING_ERRORS:
                return False
            raise

    def delete(self, path: Parts) -> None:
        """Remove a file, and the folders that are empty then."""
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
        """Return what is in a folder, at most `most` + 1."""
        found: list[Listed] = []
        try:
            with self._folder(path) as at:
                for one in _walk(at, "/".join(path), recursive=recursive):
                    found.append(one)
                    if len(found) > most:
                        break
        except OSError as error:
            if error.errno not in _MISSING_ERRORS:
                raise
        return sorted(found, key=lambda one: one.path)

    def _count(self) -> StoredSize:
        """Look at all of it; what saves have left that were killed is removed."""
        size = files = 0
        for one in _walk(self._root, "", recursive=True, visit=sweep):
            size, files = size + one.size_bytes, files + (not one.is_folder)
        return StoredSize(size, files)

    @contextmanager
    def _folder(self, parts: Parts, *, makes: bool = False) -> Iterator[int]:
        """Yield the descriptor of a folder.

        Raises:
            OSError: there is none, or a part of it is a link or a file.
            Thrown: the same, where it was to be made.
        """
        at = os.dup(self._root)
        try:
            for one in parts:
                inner = _enter(at, one, makes=makes)
                os.close(at)
                at = inner
            yield at
        finally:
            os.close(at)


def _enter(at: int, name: str, *, makes: bool) -> int:
    """Return the descriptor of a folder in a folder."""
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
    """Yield a name for a file that is not whole yet; it is gone when the block has ended."""
    name = f"{INTERNAL_PREFIX}new-{secrets.token_hex(8)}"
    try:
        yield name
    finally:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)


def _write(name: str, folder: int, content: BinaryIO) -> int:
    """Write a new file until it is on the disk; return its size."""
    with os.fdopen(os.open(name, _new_file_flags(), 0o600, dir_fd=folder), "wb") as file:
        _copy(content, file)
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


def _copy(content: BinaryIO, file: BinaryIO) -> None:
    """Copy in the kernel where it can do that."""
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
    """Return the bytes of a file; None of what is not there, or is something else."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


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
            (one.name, one.is_dir(follow_symlinks=False)) for one in entries
            if not one.name.startswith(INTERNAL_PREFIX) and one.name != IGNORE
            and (one.is_dir(follow_symlinks=False) or one.is_file(follow_symlinks=False))
        )  # fmt: skip


class _OpenFolder:
    """A folder in a folder, open."""

    def __init__(self, at: int, name: str) -> None:
        self.at = os.open(name, _FOLDER, dir_fd=at)

    def close(self) -> None:
        os.close(self.at)
