"""Mirrors of remote repositories."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeAlias

from bbops.base.errors import GitError
from bbops.source.git.address import Address
from bbops.source.git.head_mirror import HeadMirror
from bbops.source.git.mirror import Mirror
from bbops_server.process.messages.repositories import (
    Branches,
    Fetch,
    FetchAnswer,
    FetchedRef,
    FetchHeads,
    FetchRef,
    ListRemoteBranches,
    PushBranch,
    PushTag,
    TakeBranch,
    TakeBranchAnswer,
)
from bbops_server.process.messages.request import DoneAnswer

MirrorRequest: TypeAlias = (
    Fetch | FetchRef | ListRemoteBranches | FetchHeads | PushBranch | PushTag | TakeBranch
)


@dataclass(slots=True)
class Mirrors:
    """Open mirrors. Each is used by one thread, which may wait for the network."""

    _mirrors: dict[tuple[str, str], Mirror] = field(default_factory=dict)
    _heads: dict[tuple[str, str], HeadMirror] = field(default_factory=dict)

    def fetch(self, request: Fetch) -> FetchAnswer:
        """Update a mirror from its repository.

        Raises:
            GitError: the repository is unreachable, or its content is rejected.
        """
        update = self._mirror(request).update(
            request.branch, request.project, versions=request.versions,
            has_own_frontends=request.has_own_frontends,
        )  # fmt: skip
        return FetchAnswer(update.commit, **asdict(update.frontends))

    def branches(self, request: ListRemoteBranches) -> Branches:
        """Return every remote branch with its newest commit. Raises as `fetch`."""
        return Branches(self._mirror(request).branches())

    def heads(self, request: FetchHeads) -> Branches:
        """Return the fetched heads of pull requests. Raises as `fetch`."""
        key = request.url, request.mirror
        if key not in self._heads:
            folder, borrows = Path(request.mirror), Path(request.borrows)
            self._heads[key] = HeadMirror(folder, _parse(request.url), borrows=borrows)
        self._heads[key].authorization = request.authorization
        return Branches(self._heads[key].take_heads(request.refs))

    def take_branch(self, request: TakeBranch) -> TakeBranchAnswer:
        """Return the newest commit of a remote branch. Raises as `fetch`."""
        return TakeBranchAnswer(self._mirror(request).take_branch(request.branch))

    def fetch_ref(self, request: FetchRef) -> FetchedRef:
        """Fetch the objects of a ref of the remote repository. Raises as `fetch`."""
        return FetchedRef(self._mirror(request).fetch_ref(request.ref))

    def push_tag(self, request: PushTag) -> DoneAnswer:
        """Push a tag to the remote repository. Raises as `fetch`."""
        self._mirror(request).push_tag(request.tag)
        return DoneAnswer()

    def push_branch(self, request: PushBranch) -> DoneAnswer:
        """Push a commit to a remote branch. Raises as `fetch`, also if the branch has moved."""
        self._mirror(request).push_branch(request.branch, request.commit, request.expected)
        return DoneAnswer()

    def _mirror(self, request: MirrorRequest) -> Mirror:
        key = request.url, request.mirror
        if key not in self._mirrors:
            self._mirrors[key] = Mirror(Path(request.mirror), _parse(request.url))
        self._mirrors[key].authorization = request.authorization
        return self._mirrors[key]


def _parse(url: str) -> Address:
    address = Address.parse(url)
    if address is None:
        raise GitError("this is not a repository URL")
    return address
