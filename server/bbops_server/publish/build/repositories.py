"""What the parent asks about repositories; each verb takes a request and returns an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from bbops.source.git.checkout import is_dirty
from bbops.source.git.reach import Part, find_touched
from bbops_server.process.messages import Frame
from bbops_server.publish.build.executor import Work
from bbops_server.publish.build.mirrors import Mirrors
from bbops_server.publish.build.sources import Sources


class Repositories:
    """Those that are open here, and the mirrors of those elsewhere."""

    def __init__(self, sources: Sources) -> None:
        self._sources, self._mirrors = sources, Mirrors()

    @property
    def verbs(self) -> Mapping[str, Work]:
        """What is done in turn."""
        return {
            "resolve": self._resolve,
            "branches": self._branches,
            "descends": self._descends,
            "count commits": self._count_commits,
            "is dirty": _is_dirty,
            "trees": self._trees,
            "reach": self._reach,
            "sizes": self._sizes,
            "tag": self._sources.tag,
            "versions": self._versions,
            "frontends": self._frontends,
            "restore": self._sources.restore,
            "move": self._sources.move,
        }

    @property
    def online(self) -> Mapping[str, Work]:
        """What waits for a network."""
        return {
            "fetch": self._mirrors.fetch,
            "remote branches": self._remote_branches,
            "push tag": self._push_tag,
        }

    def _resolve(self, request: Frame) -> Frame:
        return self._sources.resolve(request["repository"], request["branch"])

    def _branches(self, request: Frame) -> Frame:
        return {"branches": self._sources.branches(request["repository"])}

    def _descends(self, request: Frame) -> Frame:
        found = self._sources.descends(request["repository"], request["old"], request["new"])
        return {"descends": found}

    def _count_commits(self, request: Frame) -> Frame:
        store = self._sources.store(request["repository"])
        is_there = store.has_commit(request["old"])
        return {"count": store.count_between(request["old"], request["new"]) if is_there else 0}

    def _trees(self, request: Frame) -> Frame:
        store = self._sources.store(request["repository"], request["quarantine"])
        return store.trees(request["commits"], request.get("folder", ""))

    def _reach(self, request: Frame) -> Frame:
        store = self._sources.store(request["repository"], request["quarantine"])
        parts = [Part(*one) for one in request["parts"]]
        found = [find_touched(store.place, one, parts, request["name"])
                 for one in request["commits"]]  # fmt: skip
        return {"touched": [any(each) for each in zip(*found, strict=True)]}

    def _sizes(self, request: Frame) -> Frame:
        store = self._sources.store(request["repository"])
        return asdict(store.sizes(Path(request["quarantine"])))

    def _versions(self, request: Frame) -> Frame:
        return self._sources.versions(request["repository"])

    def _frontends(self, request: Frame) -> Frame:
        return self._sources.frontends(request["repository"], request["folder"])

    # ---- elsewhere
    def _remote_branches(self, request: Frame) -> Frame:
        return self._mirrors.branches(request["url"], request["mirror"])

    def _push_tag(self, request: Frame) -> Frame:
        return self._mirrors.push_tag(request["url"], request["mirror"], request["tag"])


def _is_dirty(request: Frame) -> Frame:
    return {"is_dirty": is_dirty(Path(request["repository"]), request["branch"])}
