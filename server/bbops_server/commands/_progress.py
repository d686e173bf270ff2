"""Show how far the copying of a large file is, to a person who waits for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bbops.database.files.backup import Tell

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
