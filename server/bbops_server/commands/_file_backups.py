"""Backups of the files of the addon localStorage, with progress."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bbops.base.render import plural, printable

if TYPE_CHECKING:
    from bbops.database.files.backup import Tell


@dataclass(slots=True)
class BackedUp:
    """Files in an archive; without one there are none.

    Attributes:
        new: where they have been unpacked, for a restore.
        root: where they belong.
        keep: where those that were there go; afterwards only if there were some.
    """

    archive: Path | None = None
    size_bytes: int = 0
    files: int = 0
    new: Path = Path()
    root: Path = Path()
    keep: Path | None = None

    def put_in_place(self) -> None:
        """Let the unpacked files take the place of those that are there."""
        from bbops_server.process.storage.archive import replace_folder  # noqa: PLC0415 - after --help

        if self.archive is not None and self.keep is not None:
            had = replace_folder(self.new, self.root, self.keep)
            self.keep = self.keep if had else None

    def told(self) -> Mapping[str, object]:
        """Return it for JSON."""
        if self.archive is None:
            return {}
        kept = {"kept": str(self.keep)} if self.keep is not None else {}
        told = {"archive": str(self.archive), "files": self.files, "size_bytes": self.size_bytes}
        return {"files": told | kept}

    def lines(self, way: str) -> Iterator[str]:
        """Yield it in words."""
        if self.archive is None:
            return
        size = f"{self.size_bytes / 1_000_000:,.1f} MB"
        yield f"{plural(self.files, 'file')}, {size}, {way} '{printable(str(self.archive))}'"
        if self.keep is not None:
            yield f"the previous files are kept in '{printable(str(self.keep))}'"


def back_up_files(state: Path, backup: Path) -> BackedUp:
    """Write the files that a project keeps beside a backup of its database, which comes first.

    A row that names a file is in the backup only if the file was there before.

    Raises:
        ServerError: they cannot be written.
    """
    from bbops_server.process.storage.archive import (  # noqa: PLC0415 - after --help
        FOLDER,
        archive_path,
        has_files,
        pack,
    )

    root = state / FOLDER
    if not has_files(root):
        return BackedUp()
    archive = archive_path(backup)
    held = pack(root, archive)
    return BackedUp(archive, held.size_bytes, held.files)


@contextmanager
def restoring_files(backup: Path, state: Path, time: str) -> Iterator[BackedUp]:
    """Yield the files beside a backup, unpacked and checked; nothing where there are none.

    Raises:
        ServerError: they are damaged; nothing has changed.
    """
    from bbops_server.process.storage.archive import (  # noqa: PLC0415 - after --help
        FOLDER,
        archive_path,
        unpacked,
    )

    archive, root = archive_path(backup), state / FOLDER
    if not archive.is_file():
        yield BackedUp()
        return
    with unpacked(archive, root) as (new, held):
        keep = state / f"{FOLDER}.before-{time}"
        yield BackedUp(archive, held.size_bytes, held.files, new, root, keep)


LARGE_BYTES: Final = 64 << 20
"""Less is copied before a bar could be read."""


@contextmanager
def copying(what: str, size_bytes: int) -> Iterator[Tell | None]:
    """Yield what is told of a copy's progress; None where nobody would see it."""
    if size_bytes < LARGE_BYTES or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - 30 ms that small files do not need
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )  # fmt: skip

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=size_bytes)

        def tell(done: int, of: int) -> None:
            shown.update(task, completed=done, total=of)

        yield tell
