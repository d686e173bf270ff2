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
        """Replace the project's files by the unpacked ones."""
        from bbops_server.process.storage.archive import replace_folder  # noqa: PLC0415 - after --help

        if self.archive is not None and self.keep is not None:
            had = replace_folder(self.new, self.root, self.keep)
            self.keep = self.keep if had else None

    def members(self) -> Mapping[str, object]:
        """Return the members for JSON."""
        if self.archive is None:
            return {}
        kept = {"kept": str(self.keep)} if self.keep is not None else {}
        found = {"archive": str(self.archive), "files": self.files, "size_bytes": self.size_bytes}
        return {"files": found | kept}

    def lines(self, way: str) -> Iterator[str]:
        """Yield the lines to print."""
        if self.archive is None:
            return
        size = f"{self.size_bytes / 1_000_000:,.1f} MB"
        yield f"{plural(self.files, 'file')}, {size}, {way} '{printable(str(self.archive))}'"
        if self.keep is not None:
            yield f"the previous files are kept in '{printable(str(self.keep))}'"


def back_up_files(state: Path, backup: Path) -> BackedUp:
    """Write the stored files of a project beside a backup of its database, which is made first.

    So the files of all rows in the backup exist, unless they were deleted meanwhile.

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
    """Yield the files beside a backup, unpacked and checked; none if there are none.

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
"""Smaller copies end before anybody could read a progress bar."""


@contextmanager
def copying(what: str, size_bytes: int) -> Iterator[Tell | None]:
    """Yield the callback for the progress of a copy; None without a terminal or for a small one."""
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
