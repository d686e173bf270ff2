"""The files of one commit, as a Tree."""

from __future__ import annotations

from collections.abc import Sequence

from bbops.source.git.store import Store
from bbops.source.tree import BlobId, Entry, is_local


class GitTree:
    """A commit's files below `under`, read from the repository's objects: nothing is checked out.

    Folders that belong to one machine are left out, as in a folder's tree, so both agree.
    """

    def __init__(self, store: Store, commit: str, *, branch: str = "main", under: str = "") -> None:
        algorithm = "sha1" if len(commit) == 40 else "sha256"
        self.revision = f"{branch}@{algorithm}:{commit}"
        self._store, self._commit, self._under = store, commit, under
        self._entries: Sequence[Entry] | None = None

    def entries(self) -> Sequence[Entry]:
        """Return every file, sorted by path from `under`."""
        if self._entries is None:  # a commit never changes
            listed = self._store.entries(self._commit, self._under)
            self._entries = [entry for entry in listed if not is_local(entry.path)]
        return self._entries

    def read(self, blobs: Sequence[BlobId]) -> dict[BlobId, bytes]:
        """Return the bytes behind each id; an id the repository does not hold is left out."""
        return self._store.read(blobs)
