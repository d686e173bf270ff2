"""The input of a forked process that builds a project without its repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bbops.base.errors import ServerError
from bbops.compiler.compile.release import Built, build
from bbops.language.loading.load import MAX_FILE_BYTES
from bbops.language.resources.project import Engine
from bbops.source.tree import BlobId, Entry, Tree
from bbops_server.process.messages.forks import RunTests

MAX_BYTES: Final = 32 << 20
"""The most bytes of all resources together."""


@dataclass(slots=True)
class BuildInput:
    """A tree with its resources in memory; other files have their names only.

    It is never changed; it is not frozen since a `Tree` is not.
    """

    revision: str
    listed: tuple[Entry, ...]
    blobs: Mapping[str, bytes]
    engine: Engine
    off: tuple[str, ...]

    @classmethod
    def take(cls, tree: Tree, engine: Engine, off: Sequence[str]) -> BuildInput:
        """Read the resources of a tree.

        Raises:
            GitError: it cannot be read.
            ServerError: its resources are too large together.
        """
        listed = tuple(tree.entries())
        sizes = {
            entry.blob: entry.size_bytes
            for entry in listed
            if entry.path.endswith(".yaml") and entry.size_bytes <= MAX_FILE_BYTES
        }
        if sum(sizes.values()) > MAX_BYTES:
            raise ServerError(f"the project has more than {MAX_BYTES >> 20} MiB of resources")
        blobs = {str(blob): data for blob, data in tree.read(list(sizes)).items()}
        return cls(tree.revision, listed, blobs, engine, tuple(off))

    def request(self, seconds: float) -> RunTests:
        """Return the request that runs its tests in another process."""
        return RunTests(
            seconds, self.revision, self.listed, dict(self.blobs), self.engine, self.off
        )  # fmt: skip

    @classmethod
    def unpack(cls, request: RunTests) -> BuildInput:
        """Return the input of a request."""
        return cls(request.revision, request.listed, request.blobs, request.engine, request.off)

    def entries(self) -> Sequence[Entry]:
        """Return every file, sorted by path."""
        return self.listed

    def read(self, blobs: Sequence[BlobId]) -> dict[BlobId, bytes]:
        """Return the content of each known id."""
        return {blob: self.blobs[blob] for blob in blobs if blob in self.blobs}

    def build(self) -> Built:
        """Compile it; it was checked before it was sent."""
        return build(self, database=self.engine, off=self.off, base=self)
