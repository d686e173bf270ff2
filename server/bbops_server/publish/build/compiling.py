"""Turn commits into releases, and say what is wrong with them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final

from bbops.base.disk import replace_file
from bbops.base.errors import ProjectError, ServerError
from bbops.build.check._supported import needs_base
from bbops.build.compile.release import Built, build, check, declared_env
from bbops.language.project import Project
from bbops.review.plan.hosts import find_hosts
from bbops.source.tree import Tree
from bbops_server.process.messages import Frame
from bbops_server.publish.build.executor import Work
from bbops_server.publish.build.frontend import keep
from bbops_server.publish.build.gate import Gate
from bbops_server.publish.build.handed import Handed
from bbops_server.publish.build.proposing import find_removed, summarize
from bbops_server.publish.build.serialization import describe
from bbops_server.publish.build.sources import Sources
from bbops_server.publish.build.tables import TablesAtWork
from bbops_server.publish.build.tagged import check_tagged, find_tagged, publish

_NOTHING: Final[Frame] = {
    "artifact": "", "env": {}, "project": "", "durability": "normal", "gate": False, "signs": "",
    "review": {}, "reaches": {},
}  # fmt: skip
"""What is told of a commit that has mistakes."""


class Compiling:
    """Compiles on the thread that owns the sources; each verb takes a request."""

    def __init__(self, sources: Sources, tables: TablesAtWork, gate: Gate) -> None:
        """`tables` and `gate` are handed what was built, until they are asked about it."""
        self._sources, self._tables, self._gate = sources, tables, gate

    @property
    def verbs(self) -> Mapping[str, Work]:
        """What is done in turn."""
        return {
            "build": self._build, "check": self._check, "summary": self._summarize,
            "removed": self._removed,
            "publish frontend": self._publish_frontend,
        }  # fmt: skip

    def hand_over(self, request: Frame) -> Handed:
        """Return a `source` that has no mistakes with the `engine` and the features `off`.

        Whether it may go live is decided elsewhere: what no version runs does not stop its tests.

        Raises:
            GitError: it cannot be read.
            ProjectError: it has mistakes.
        """
        tree, cache = self._sources.open(request["source"])
        project, found = check(
            tree, cache, off=request["off"], database=request["engine"], base=tree
        )
        if project is None:
            raise ProjectError(found)
        return Handed.take(tree, request["engine"], request["off"])

    def read(self, request: Frame) -> Project:
        """Return the project of a `source`. Raises as `hand_over`."""
        tree, cache = self._sources.open(request["source"])
        engine = request.get("engine", "sqlite")
        project, found = check(tree, cache, database=engine, off=(), base=tree)
        if project is None:
            raise ProjectError(found)
        return project

    def _build(self, request: Frame) -> Frame:
        started, source = time.monotonic(), request["source"]
        tree, cache = self._sources.open(source)
        off, engine = request.get("off", ()), request.get("engine", "sqlite")
        built = build(tree, cache, off=off, database=engine)
        if needs_base(built.diagnostics):
            base = self._sources.accepted(source, request.get("live", ""))
            built = build(tree, cache, off=off, database=engine, base=base)
        tagged = find_tagged(self._sources, built, tree, source)
        built = check_tagged(built, tagged) if tagged else built
        artifacts = Path(request["artifacts"])
        handed = Handed.take(tree, engine, off) if _is_gated(built) else None
        answer = {
            "ok": built.project is not None,
            "diagnostics": [describe(one) for one in built.diagnostics],
            "digest": built.digest,
            "revision": tree.revision,
            "subject": self._sources.subject(source),
            "author": self._sources.author(source),
            "compiled": built.compiled,
            **self._keep(built, artifacts, handed),
            "frontend": _keep_frontend(built, artifacts.parent, tree, tagged),
            "tagged": tagged.revision if tagged else "",
        }
        return answer | {"milliseconds": round(1000 * (time.monotonic() - started))}

    def _check(self, request: Frame) -> Frame:
        """Check a commit that is pushed; `old` is what its branch held, empty for nothing.

        `live` is the commit that is live, empty for none; `bounds` asks whether what the commit
        removes is within the rule of the project.
        """
        source, old = request["source"], request["old"]
        tree, cache = self._sources.open(source)
        engine, off = request["engine"], request["off"]
        project, found = check(tree, cache, database=engine, off=off)
        if needs_base(found):
            base = self._sources.accepted(source, request["live"])
            project, found = check(tree, cache, database=engine, off=off, base=base)
        store = self._sources.store(source["repository"], source.get("quarantine", ""))
        return {
            "ok": project is not None,
            "diagnostics": [describe(one) for one in found],
            "follows": not old or store.is_ancestor(old, source["commit"]),
            "removed": self._find_removed(request) if project and request["bounds"] else "",
        }

    def _find_removed(self, request: Frame) -> str:
        source = request["source"]
        base = {**source, "commit": request["old"]}
        return find_removed(self._sources, base, source, request["engine"])

    def _removed(self, request: Frame) -> Frame:
        base, source = request["base"], request["source"]
        return {"refused": find_removed(self._sources, base, source, request["engine"])}

    def _summarize(self, request: Frame) -> Frame:
        return summarize(self._sources, request["base"], request["source"], request["engine"])

    def _publish_frontend(self, request: Frame) -> Frame:
        return publish(self._sources, self.read(request), request)

    def _keep(self, built: Built, artifacts: Path, handed: Handed | None) -> Frame:
        """Write the artifact and remember its tables; return what a release needs besides."""
        if built.project is None:
            return _NOTHING
        _write(artifacts / built.digest, built.artifact)
        settings = built.project.settings.model
        tables = {name: found.model for name, found in built.project.tables.items()}
        self._tables.remember(artifacts.parent, built.digest, tables)
        return {
            "artifact": str(artifacts / built.digest),
            "env": declared_env(built.project),
            "project": settings.name,
            "durability": settings.database.durability,
            "gate": self._gate.keep(artifacts.parent, built.digest, handed),
            "signs": settings.auth.key_name if settings.auth else "",
            "review": settings.review.model_dump(),
            "reaches": asdict(find_hosts(built.project)),
        }


def _is_gated(built: Built) -> bool:
    return built.project is not None and built.project.settings.model.tests.gate


def _write(path: Path, artifact: bytes) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, artifact)
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(
            f"cannot write artifact '{path}': {reason}",
            hint="the state folder needs a disk that has room and may be written",
        ) from None


def _keep_frontend(built: Built, state: Path, tree: Tree, tagged: Tree | None) -> str:
    if built.project is None:
        return ""
    settings = built.project.settings.model.frontend
    if tagged is not None:
        return keep(state, built.project, tagged, "")
    return keep(state, built.project, tree, settings.directory if settings else "")
