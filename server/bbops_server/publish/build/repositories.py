"""Handlers for requests about repositories."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from bbops.source.git.checkout import is_dirty
from bbops.source.git.reach import find_touched
from bbops_server.process.messages.repositories import (
    Branches,
    CheckDescent,
    CheckDescentAnswer,
    CheckDirty,
    CheckDirtyAnswer,
    CommitCount,
    CountCommits,
    Fetch,
    FetchHeads,
    FetchRef,
    FindChangedParts,
    FindChangedPartsAnswer,
    ListBranches,
    ListRemoteBranches,
    MeasurePush,
    MoveBranch,
    PushBranch,
    PushSize,
    PushTag,
    ReadFrontends,
    ReadFrontendsAnswer,
    ReadTrees,
    ReadTreesAnswer,
    ReadVersions,
    ReadVersionsAnswer,
    Resolve,
    ResolveAnswer,
    RestoreVersion,
    TagVersion,
    TakeBranch,
)
from bbops_server.publish.build.executor import SyncHandlers
from bbops_server.publish.build.mirrors import Mirrors
from bbops_server.publish.build.sources import OpenSources


class RepositoryHandlers:
    """Handles requests about open repositories and mirrors."""

    def __init__(self, sources: OpenSources) -> None:
        self._sources, self._mirrors = sources, Mirrors()

    @property
    def works(self) -> SyncHandlers:
        """Handlers that run one after the other."""
        return {
            Resolve: self._resolve, ListBranches: self._list_branches,
            CheckDescent: self._check_descent, CountCommits: self._count_commits,
            CheckDirty: _check_dirty, ReadTrees: self._read_trees,
            FindChangedParts: self._find_changed_parts,
            MeasurePush: self._measure_push, TagVersion: self._sources.tag,
            ReadVersions: self._read_versions, ReadFrontends: self._read_frontends,
            RestoreVersion: self._sources.restore, MoveBranch: self._sources.move,
        }  # fmt: skip

    @property
    def online(self) -> SyncHandlers:
        """Handlers that use the network."""
        return {
            Fetch: self._mirrors.fetch, ListRemoteBranches: self._mirrors.branches,
            PushTag: self._mirrors.push_tag, FetchHeads: self._mirrors.heads,
            PushBranch: self._mirrors.push_branch, TakeBranch: self._mirrors.take_branch,
            FetchRef: self._mirrors.fetch_ref,
        }  # fmt: skip

    def _resolve(self, request: Resolve) -> ResolveAnswer:
        return ResolveAnswer(*self._sources.resolve(request.repository, request.branch))

    def _list_branches(self, request: ListBranches) -> Branches:
        return Branches(self._sources.branches(request.repository))

    def _check_descent(self, request: CheckDescent) -> CheckDescentAnswer:
        return CheckDescentAnswer(
            self._sources.descends(request.repository, request.old, request.new)
        )

    def _count_commits(self, request: CountCommits) -> CommitCount:
        store = self._sources.store(request.repository)
        is_known = store.has_commit(request.old)
        return CommitCount(store.count_between(request.old, request.new) if is_known else 0)

    def _read_trees(self, request: ReadTrees) -> ReadTreesAnswer:
        store = self._sources.store(request.repository, request.quarantine)
        return ReadTreesAnswer(store.trees(request.commits, request.folder))

    def _find_changed_parts(self, request: FindChangedParts) -> FindChangedPartsAnswer:
        store = self._sources.store(request.repository, request.quarantine)
        touched = [find_touched(store.place, commit, request.parts, request.name)
                   for commit in request.commits]  # fmt: skip
        return FindChangedPartsAnswer([any(column) for column in zip(*touched, strict=True)])

    def _measure_push(self, request: MeasurePush) -> PushSize:
        store = self._sources.store(request.repository)
        return PushSize(**asdict(store.sizes(Path(request.quarantine))))

    def _read_versions(self, request: ReadVersions) -> ReadVersionsAnswer:
        return ReadVersionsAnswer(self._sources.versions(request.repository))

    def _read_frontends(self, request: ReadFrontends) -> ReadFrontendsAnswer:
        return ReadFrontendsAnswer(self._sources.frontends(request.repository, request.folder))


def _check_dirty(request: CheckDirty) -> CheckDirtyAnswer:
    return CheckDirtyAnswer(is_dirty(Path(request.repository), request.branch))
