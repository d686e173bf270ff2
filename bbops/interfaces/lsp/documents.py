"""A folder's files with the open documents of an editor in their place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bbops.source.tree import BlobId, Entry, FilePath, FolderTree, blob_id, is_local, is_safe


class Overlay:
    """A Tree: what is open counts as the editor shows it, saved or not."""

    revision = "editor"

    def __init__(self, root: Path) -> None:
        self._folder = FolderTree(root)
        self._open: dict[str, tuple[Entry, bytes]] = {}

    def put(self, path: str, text: str) -> None:
        """Take the text of an open document."""
        data = text.encode(errors="replace")
        kind = "file" if is_safe(path) else "other"
        self._open[path] = Entry(FilePath(path), blob_id(data), len(data), kind), data

    def drop(self, path: str) -> None:
        """Take the file on disk again."""
        self._open.pop(path, None)

    def text(self, path: str) -> str | None:
        """Return the text of an open document."""
        found = self._open.get(path)
        return found[1].decode() if found else None

    def entries(self) -> Sequence[Entry]:
        """Return every file, sorted by path."""
        files = {entry.path: entry for entry in self._folder.entries()}
        files |= {one.path: one for one, _ in self._open.values() if not is_local(one.path)}
        return [files[path] for path in sorted(files)]

    def read(self, blobs: Sequence[BlobId]) -> dict[BlobId, bytes]:
        """Return the bytes behind ids that `entries` listed."""
        held = {entry.blob: data for entry, data in self._open.values()}
        found = self._folder.read([blob for blob in blobs if blob not in held])
        return found | {blob: held[blob] for blob in blobs if blob in held}
