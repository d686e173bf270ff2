"""Handlers for requests about new commits of a reviewed branch."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from bbops.source.git.arrivals import list_arrivals, read_blob, read_merged
from bbops.source.git.signatures import TrustedKeys, find_unsigned
from bbops.source.git.store import Store
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
from bbops_server.publish.build.sources import OpenSources

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
