"""Mirrors of remote repositories."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from bbops.base.errors import GitError
from bbops.source.git.address import Address
from bbops.source.git.mirror import Mirror
from bbops_server.process.messages.repositories import (
    Branches,
    Fetch,
    FetchAnswer,
    FetchedRef,
    FetchRef,
    ListRemoteBranches,
    PushTag,
)
from bbops_server.process.messages.request import DoneAnswer


@dataclass(slots=True)
class Mirrors:
    """Open mirrors. Each is used by one thread, which may wait for the network."""

    _mirrors: dict[tuple[str, str], Mirror] = field(default_factory=dict)

    def fetch(self, request: Fetch) -> FetchAnswer:
        """Update a mirror from its repository.

        Raises:
            GitError: the repository is unreachable, or its content is rejected.
        """
        update = self._mirror(request.url, request.mirror).update(
            request.branch, request.project, versions=request.versions,
            has_own_frontends=request.has_own_frontends,
        )  # fmt: skip
        return FetchAnswer(update.commit, **asdict(update.frontends))

    def branches(self, request: ListRemoteBranches) -> Branches:
        """Return every remote branch with its newest commit. Raises as `fetch`."""
        return Branches(self._mirror(request.url, request.mirror).branches())

    def fetch_ref(self, request: FetchRef) -> FetchedRef:
        """Fetch the objects of a ref of the remote repository. Raises as `fetch`."""
        return FetchedRef(self._mirror(request.url, request.mirror).fetch_ref(request.ref))

    def push_tag(self, request: PushTag) -> DoneAnswer:
        """Push a tag to the remote repository. Raises as `fetch`."""
        self._mirror(request.url, request.mirror).push_tag(request.tag)
        return DoneAnswer()

    def _mirror(self, url: str, mirror: str) -> Mirror:
        if (url, mirror) not in self._mirrors:
            address = Address.parse(url)
            if address is None:
                raise GitError("this is not a repository URL")
            self._mirrors[url, mirror] = Mirror(Path(mirror), address)
        return self._mirrors[url, mirror]
