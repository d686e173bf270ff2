"""What a forked process is handed to build a project: no repository is open there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bbops.base.errors import ServerError
from bbops.build.compile.release import Built, build
from bbops.language.loading.load import MAX_FILE_BYTES
from bbops.language.resources.project import Engine
from bbops.source.tree import BlobId, Entry, Tree
from bbops_server.process.messages.forks import RunTests

MOST_BYTES: Final = 32 << 20
"""Of all resources together."""


@dataclass(slots=True)
class BuildInput:
    """A tree whose resources are in memory; of other files there are the names alone.

    Nobody changes it; it is not frozen since a `Tree` is not.
    """

    revision: str
    listed: tuple[Entry, ...]
    blobs: Mapping[str, bytes]
    engine: Engine
    off: tuple[str, ...]

    @classmethod
    def take(cls, tree: Tree, engine: Engine, off: Sequence[str]) -> BuildInput:
        """Read a tree.

        Raises:
            GitError: it cannot be read.
            ServerError: its resources are too large together.
        """
        listed = tuple(tree.entries())
        wanted = {
            one.blob: one.size_bytes
            for one in listed
            if one.path.endswith(".yaml") and one.size_bytes <= MAX_FILE_BYTES
        }
        if sum(wanted.values()) > MOST_BYTES:
            raise ServerError(f"the project has more than {MOST_BYTES >> 20} MiB of resources")
        blobs = {str(blob): data for blob, data in tree.read(list(wanted)).items()}
        return cls(tree.revision, listed, blobs, engine, tuple(off))

    def request(self, seconds: float) -> RunTests:
        """Return the request that hands it over, to be tested."""
        return RunTests(
            seconds, self.revision, self.listed, dict(self.blobs), self.engine, self.off
        )  # fmt: skip

    @classmethod
    def unpack(cls, request: RunTests) -> BuildInput:
        """Return what `request` handed over."""
        return cls(request.revision, request.listed, request.blobs, request.engine, request.off)

    def entries(self) -> Sequence[Entry]:
        """Return every file, sorted by path."""
        return self.listed

    def read(self, blobs: Sequence[BlobId]) -> dict[BlobId, bytes]:
        """Return the bytes behind each id that is known."""
        return {blob: self.blobs[blob] for blob in blobs if blob in self.blobs}

    def build(self) -> Built:
        """Compile it: whether it may go live was decided before it was handed over."""
        return build(self, database=self.engine, off=self.off, base=self)
