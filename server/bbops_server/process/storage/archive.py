"""Archives of a project's files: pack, unpack, and swap the folder for its new content.

A save replaces a file as a whole, so each packed file is consistent.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from bbops.base.disk import written_whole
from bbops.base.errors import ServerError
from bbops.runtime.values.failures import Failure
from bbops.runtime.vendors._parts import read_path
from bbops_server.process.storage.confined import ConfinedFolder
from bbops_server.process.storage.usage import INTERNAL_PREFIX, StoredSize

FOLDER: Final = "files"
"""The name of the files' folder in a project's state folder."""
ARCHIVE_SUFFIX: Final = ".files.tar"
_UNLIMITED: Final = StoredSize(1 << 60, 1 << 60)
_TEMPORARY_PREFIX: Final = ".files-new-"


def archive_path(backup: Path) -> Path:
    """Return the path of a backup's archive: `monday.files.tar` for `monday.sqlite`."""
    return backup.with_name(backup.name.removesuffix(".sqlite") + ARCHIVE_SUFFIX)


def has_files(root: Path) -> bool:
    """Return whether a project has files."""
    return next(_files(root), None) is not None


def pack(root: Path, target: Path) -> StoredSize:
    """Write all files below a folder to a new archive; an incomplete one never appears.

    Raises:
        ServerError: `target` exists, or cannot be written.
    """
    if target.exists():
        raise ServerError(f"'{target}' exists", hint="choose another name, or delete it first")
    size = files = 0
    try:
        with written_whole(target, end=".partial") as partial, tarfile.open(partial, "w") as tar:
            for path in _files(root):
                with suppress(FileNotFoundError), _opened(path) as descriptor:
                    entry = tarfile.TarInfo(path.relative_to(root).as_posix())
                    entry.size, entry.mode = os.fstat(descriptor).st_size, 0o600
                    with os.fdopen(os.dup(descriptor), "rb") as file:
                        tar.addfile(entry, file)
                    size, files = size + entry.size, files + 1
    except OSError as error:
        raise _disk_error(f"cannot write '{target}'", error) from None
    return StoredSize(size, files)


@contextmanager
def unpacked(file: Path, root: Path) -> Iterator[tuple[Path, StoredSize]]:
    """Yield a temporary folder next to `root` with the files of an archive, and their size.

    The folder is deleted at the end, unless it was moved.

    Raises:
        ServerError: the archive is damaged, or contains something other than files.
    """
    root.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for leftover in root.parent.glob(f"{_TEMPORARY_PREFIX}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=_TEMPORARY_PREFIX, dir=root.parent))
    try:
        yield folder, _unpack(file, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def replace_folder(new: Path, root: Path, keep: Path) -> bool:
    """Move `root` to `keep` if it exists, and `new` to `root`; return whether `root` existed."""
    existed = root.exists()
    if existed:
        root.rename(keep)
    new.rename(root)
    return existed


def _unpack(file: Path, folder: Path) -> StoredSize:
    store = ConfinedFolder(folder, _UNLIMITED)
    try:
        with closing(store), tarfile.open(file, "r:") as tar:
            for entry in tar:
                content = tar.extractfile(entry) if entry.isfile() else None
                if content is None:
                    raise ServerError(
                        f"'{file}' contains an entry that is not a file: '{entry.name}'"
                    )
                with content:
                    store.save(read_path(entry.name), content)  # type: ignore[arg-type]
            return store.usage.read()
    except (tarfile.TarError, EOFError, ValueError, Failure) as error:
        raise ServerError(
            f"'{file}' is damaged: {error}", hint="use another backup; nothing has changed"
        ) from None
    except OSError as error:
        raise _disk_error(f"cannot read '{file}'", error) from None


def _files(root: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(INTERNAL_PREFIX) and path.is_file() and not path.is_symlink():
                yield path


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _disk_error(message: str, error: OSError) -> ServerError:
    return ServerError(f"{message}: {(error.strerror or 'it failed').lower()}")
