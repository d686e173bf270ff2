"""The files of a folder, with an editor's open documents in place of the saved ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bbops.source.tree import BlobId, Entry, FilePath, FolderTree, blob_id, is_local, is_safe


class Overlay:
    """A Tree with the text of open documents, saved or not."""

    revision = "editor"

    def __init__(self, root: Path) -> None:
        self._folder = FolderTree(root)
        self._open: dict[str, tuple[Entry, bytes]] = {}

    def put(self, path: str, text: str) -> None:
        """Set the text of an open document."""
        data = text.encode(errors="replace")
        kind = "file" if is_safe(path) else "other"
        self._open[path] = Entry(FilePath(path), blob_id(data), len(data), kind), data

    def drop(self, path: str) -> None:
        """Close a document; its file on disk counts again."""
        self._open.pop(path, None)

    def text(self, path: str) -> str | None:
        """Return the text of an open document."""
        document = self._open.get(path)
        return document[1].decode() if document else None

    def entries(self) -> Sequence[Entry]:
        """Return every file, sorted by path."""
        files = {entry.path: entry for entry in self._folder.entries()}
        files |= {entry.path: entry for entry, _ in self._open.values() if not is_local(entry.path)}
        return [files[path] for path in sorted(files)]

    def read(self, blobs: Sequence[BlobId]) -> dict[BlobId, bytes]:
        """Return the content of blobs that `entries` listed."""
        open_blobs = {entry.blob: data for entry, data in self._open.values()}
        saved = self._folder.read([blob for blob in blobs if blob not in open_blobs])
        return saved | {blob: open_blobs[blob] for blob in blobs if blob in open_blobs}
