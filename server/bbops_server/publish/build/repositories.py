"""Requests about repositories, and about new commits of a reviewed branch."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Final

from bbops.source.git.arrivals import find_touched, list_arrivals, read_blob, read_merged
from bbops.source.git.checkout import is_dirty
from bbops.source.git.signatures import TrustedKeys, find_unsigned
from bbops.source.git.store import Store
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
from bbops_server.process.messages.reviews import (
    ArrivedCommit,
    ArrivedCommits,
    FindUnsigned,
    ListArrivals,
    MergeAnswer,
    ReadFirstFile,
    ReadMerge,
    TextAnswer,
    UnsignedCommit,
    UnsignedCommits,
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


# ---- Handlers for requests about new commits of a reviewed branch

MAX_FILE_BYTES: Final = 1 << 20
MAX_KEYS: Final = 100


class ReviewHandlers:
    """Handles requests about the review and the signatures of commits."""

    def __init__(self, sources: OpenSources) -> None:
        self._sources = sources

    @property
    def works(self) -> SyncHandlers:
        """Handlers that run one after the other."""
        return {
            ListArrivals: self._list_arrivals, ReadMerge: self._read_merge,
            ReadFirstFile: self._read_first, FindUnsigned: self._find_unsigned,
        }  # fmt: skip

    def _list_arrivals(self, request: ListArrivals) -> ArrivedCommits:
        store = self._sources.store(request.repository, request.quarantine)
        if not store.has_commit(request.old):
            return ArrivedCommits([])
        found = list_arrivals(store.place, request.old, request.new, request.most)
        return ArrivedCommits([ArrivedCommit(**asdict(arrival)) for arrival in found])

    def _read_merge(self, request: ReadMerge) -> MergeAnswer:
        place = self._sources.store(request.repository).place
        content = read_merged(place, request.base, request.head, request.merged)
        files = None if content.files is None else list(content.files)
        return MergeAnswer(content.is_clean, files, content.messages)

    def _read_first(self, request: ReadFirstFile) -> TextAnswer:
        place = self._sources.store(request.repository).place
        for path in request.paths:
            data = read_blob(place, request.commit, path, MAX_FILE_BYTES)
            if data is not None:
                return TextAnswer(data.decode(errors="replace"))
        return TextAnswer(None)

    def _find_unsigned(self, request: FindUnsigned) -> UnsignedCommits:
        store = self._sources.store(request.repository, request.quarantine)
        trusted = _read_keys(store, request)
        unsigned = find_unsigned(store.place, [each.commit for each in request.commits], trusted)
        heads = {
            each.commit: head
            for each in request.commits
            if each.commit in unsigned and (head := _find_head(store, each, request))
        }
        unsigned_heads = find_unsigned(store.place, list(dict.fromkeys(heads.values())), trusted)
        missing = [
            unsigned_heads[heads[commit]] if commit in heads else reason
            for commit, reason in unsigned.items()
            if commit not in heads or heads[commit] in unsigned_heads
        ]
        return UnsignedCommits([UnsignedCommit(**asdict(each)) for each in missing])


def _find_head(store: Store, arrival: ArrivedCommit, request: FindUnsigned) -> str:
    """Return the commit whose signature counts for a merge without changes of its own.

    Empty if the commit itself has to be signed.
    """
    head = request.heads.get(arrival.commit, "")
    if head and store.has_commit(head):
        return head
    if len(arrival.parents) != 2:
        return ""
    base, other = arrival.parents
    return other if read_merged(store.place, base, other, arrival.commit).is_clean else ""


def _read_keys(store: Store, request: FindUnsigned) -> TrustedKeys:
    """Return the keys that the live commit has; a missing file has none."""
    prefix = f"{request.folder}/" if request.folder else ""
    signers = None
    if request.signers:
        path = f"{prefix}{request.signers}"
        signers = read_blob(store.place, request.live, path, MAX_FILE_BYTES) or b""
    keys = _read_folder(store, request.live, f"{prefix}{request.keys}") if request.keys else None
    return TrustedKeys(signers, keys)


def _read_folder(store: Store, commit: str, folder: str) -> tuple[bytes, ...]:
    """Return the files `*.asc` of a folder, at most MAX_KEYS."""
    keys = [
        entry.blob for entry in store.entries(commit, folder)
        if entry.kind == "file" and entry.path.endswith(".asc")
        and entry.size_bytes <= MAX_FILE_BYTES
    ]  # fmt: skip
    return tuple(store.read(keys[:MAX_KEYS]).values())
