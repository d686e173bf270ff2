"""Copy the files that a project keeps into one tar file, and back.

Files are never changed in place: each is copied whole, whatever is saved meanwhile.
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
from bbops.runtime.vendors._paths import read_path
from bbops_server.process.storage.confined import ConfinedFolder
from bbops_server.process.storage.usage import INTERNAL_PREFIX, StoredSize

FOLDER: Final = "files"
"""In the state folder of a project."""
ARCHIVE_SUFFIX: Final = ".files.tar"
_UNLIMITED: Final = StoredSize(1 << 60, 1 << 60)
_TEMPORARY_PREFIX: Final = ".files-new-"


def archive_path(backup: Path) -> Path:
    """Return what the files of a backup are called: `monday.sqlite` has `monday.files.tar`."""
    return backup.with_name(backup.name.removesuffix(".sqlite") + ARCHIVE_SUFFIX)


def has_files(root: Path) -> bool:
    """Return whether a project keeps files."""
    return next(_files(root), None) is not None


def pack(root: Path, target: Path) -> StoredSize:
    """Write all files below a folder to a new file; it appears when it is whole.

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
                    found = tarfile.TarInfo(path.relative_to(root).as_posix())
                    found.size, found.mode = os.fstat(descriptor).st_size, 0o600
                    with os.fdopen(os.dup(descriptor), "rb") as file:
                        tar.addfile(found, file)
                    size, files = size + found.size, files + 1
    except OSError as error:
        raise _disk_error(f"cannot write '{target}'", error) from None
    return StoredSize(size, files)


@contextmanager
def unpacked(file: Path, root: Path) -> Iterator[tuple[Path, StoredSize]]:
    """Yield a folder beside `root` with the files of an archive; it is gone when the block ends.

    Raises:
        ServerError: the archive is damaged, or holds something that no project keeps.
    """
    root.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for left in root.parent.glob(f"{_TEMPORARY_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=_TEMPORARY_PREFIX, dir=root.parent))
    try:
        yield made, _unpack(file, made)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def replace_folder(made: Path, root: Path, keep: Path) -> bool:
    """Make `made` the folder of files; return whether there was one, which `keep` is now."""
    had = root.exists()
    if had:
        root.rename(keep)
    made.rename(root)
    return had


def _unpack(file: Path, made: Path) -> StoredSize:
    store = ConfinedFolder(made, _UNLIMITED)
    try:
        with closing(store), tarfile.open(file, "r:") as tar:
            for one in tar:
                content = tar.extractfile(one) if one.isfile() else None
                if content is None:
                    raise ServerError(f"'{file}' holds something that is not a file")
                with content:
                    store.save(read_path(one.name), content)  # type: ignore[arg-type]
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


def _disk_error(what: str, error: OSError) -> ServerError:
    return ServerError(f"{what}: {(error.strerror or 'it failed').lower()}")
