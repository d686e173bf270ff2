"""Follow a request history: the requests that were written since the last look."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from bbops_server.data_plane.live.history import find

MAX_ROWS: Final = 50
"""Requests of one look; those before them are only counted."""


class HistoryTail:
    """Reads new requests. Blocks; a look at an unchanged history reads no database."""

    def __init__(self, path: Path, after: int = 0) -> None:
        """Create a reader.

        Args:
            path: the history.
            after: the id of the last known request; 0 for none. A larger id than the newest counts
                as the newest.
        """
        self._paths = (path, path.with_name(f"{path.name}-wal"))
        self.last = after
        self._stamp: tuple[object, ...] = ()

    def read(self) -> tuple[list[dict[str, Any]], int]:
        """Return the new requests, oldest first, and the number of those that are left out."""
        stamp = tuple(map(_stamp, self._paths))
        if stamp == self._stamp:
            return [], 0
        self._stamp = stamp
        rows = find(self._paths[0], limit=MAX_ROWS, after=self.last)
        if not rows:
            self.last = min(self.last, _newest(self._paths[0]))  # ids of a new file begin at 1
            return [], 0
        skipped = rows[0]["id"] - self.last - 1 if self.last else 0  # ids have no gaps
        self.last = rows[-1]["id"]
        return rows, skipped


def _newest(path: Path) -> int:
    """Return the newest id of a history; 0 if it is empty."""
    return next((row["id"] for row in find(path, limit=1)), 0)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Return the state of a file, which each write changes; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
