"""What the parent asks about repositories, each request with what answers it."""

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
    FindChangedParts,
    FindChangedPartsAnswer,
    ListBranches,
    ListRemoteBranches,
    MeasurePush,
    MoveBranch,
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
)
from bbops_server.publish.build.executor import Works
from bbops_server.publish.build.mirrors import Mirrors
from bbops_server.publish.build.sources import Sources


class Repositories:
    """Those that are open here, and the mirrors of those elsewhere."""

    def __init__(self, sources: Sources) -> None:
        self._sources, self._mirrors = sources, Mirrors()

    @property
    def works(self) -> Works:
        """What is done in turn."""
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
    def online(self) -> Works:
        """What waits for a network."""
        return {
            Fetch: self._mirrors.fetch, ListRemoteBranches: self._mirrors.branches,
            PushTag: self._mirrors.push_tag,
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
        is_there = store.has_commit(request.old)
        return CommitCount(store.count_between(request.old, request.new) if is_there else 0)

    def _read_trees(self, request: ReadTrees) -> ReadTreesAnswer:
        store = self._sources.store(request.repository, request.quarantine)
        return ReadTreesAnswer(store.trees(request.commits, request.folder))

    def _find_changed_parts(self, request: FindChangedParts) -> FindChangedPartsAnswer:
        store = self._sources.store(request.repository, request.quarantine)
        found = [find_touched(store.place, one, request.parts, request.name)
                 for one in request.commits]  # fmt: skip
        return FindChangedPartsAnswer([any(each) for each in zip(*found, strict=True)])

    def _measure_push(self, request: MeasurePush) -> PushSize:
        store = self._sources.store(request.repository)
        return PushSize(**asdict(store.sizes(Path(request.quarantine))))

    def _read_versions(self, request: ReadVersions) -> ReadVersionsAnswer:
        return ReadVersionsAnswer(self._sources.versions(request.repository))

    def _read_frontends(self, request: ReadFrontends) -> ReadFrontendsAnswer:
        return ReadFrontendsAnswer(self._sources.frontends(request.repository, request.folder))


def _check_dirty(request: CheckDirty) -> CheckDirtyAnswer:
    return CheckDirtyAnswer(is_dirty(Path(request.repository), request.branch))
