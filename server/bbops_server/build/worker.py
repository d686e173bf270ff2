"""What the build process does. Whatever goes wrong is an answer; the process goes on.

Most of it happens on one thread, which owns the repositories and the caches; the smoke test, what
changes tables, and what waits for a network, each mirror on a thread of its own, do not hold it up.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from bbops.check._frontend import find_files
from bbops.compile.release import Built, Cache, build, check, declared_env
from bbops.database.copying import copy_rows
from bbops.database.place import read_place
from bbops.database.told import as_json
from bbops.diagnostics import Diagnostic
from bbops.disk import replace_file
from bbops.errors import ProjectError, ServerError
from bbops.git.checkout import is_dirty
from bbops.git.command import end_all
from bbops.git.frontend_tags import frontend_scope
from bbops.plan.asking import Question, make_tree
from bbops.project import Project
from bbops.resources.project import Engine
from bbops.tree import Tree
from bbops_server.build.frontend import Search, keep
from bbops_server.build.gate import MOST_TOLD, Gate, Trial
from bbops_server.build.proposing import agree, judge, read_pair, summarize
from bbops_server.build.smoke import try_release
from bbops_server.build.sources import Mirrors, Source, Sources
from bbops_server.build.tables import TablesAtWork
from bbops_server.build.tagged import check_tagged, find_tagged
from bbops_server.host.log import start_logging
from bbops_server.messages import Channel, Frame, answer_all

if TYPE_CHECKING:
    from bbops_server.build.agents import Agents
    from bbops_server.build.contracts import Contracts


class Builder:
    """What the parent can ask for; `handle` may run side by side, the work is done in turn."""

    def __init__(self) -> None:
        self._sources, self._mirrors, self._gate = Sources(), Mirrors(), Gate()
        self._tables, self._search = TablesAtWork(), Search()
        self._thread = ThreadPoolExecutor(1, "bbops-build")
        self._git_threads: dict[str, ThreadPoolExecutor] = {}

    @cached_property
    def _agents(self) -> Agents:
        from bbops_server.build.agents import Agents  # noqa: PLC0415 - most servers see none

        return Agents(self._tables)

    @cached_property
    def _contracts(self) -> Contracts:
        from bbops_server.build.contracts import Contracts  # noqa: PLC0415 - few are asked for

        return Contracts(self._sources)

    async def handle(self, request: Frame) -> Frame:
        """Do what one request says.

        Raises:
            BbopsError: it cannot be done; there is no such request.
        """
        if request["do"] == "smoke":
            return dict(
                await try_release(Path(request["artifact"]), read_place(request["database"]))
            )
        if self._tables.knows(request["do"]):
            return await self._tables.handle(request)
        if request["do"] == "work":
            return await self._agents.handle(request)
        if request["do"] == "weigh":
            return await self._weigh(request)
        if request["do"] == "propose":
            return await self._propose(request)
        if request["do"] == "copy rows":
            return await self._copy(request)
        if request["do"] == "test":
            return _told(*await self._gate.test(Path(request["state"]), request["digest"]))
        if request["do"] == "try":
            return await self._try(request)
        if request["do"] == "end test":
            self._gate.end(Path(request["state"]))
            return {}
        if request["do"] == "stop":
            end_all()  # nothing that is under way there is needed now
            await self._gate.close()
            await self._tables.close()
        loop, work = asyncio.get_running_loop(), self._work(request)
        is_online = request["do"] in {"fetch", "remote branches", "push tag"}
        thread = self._git_thread(request["mirror"]) if is_online else self._thread
        return await loop.run_in_executor(thread, work)

    def _git_thread(self, mirror: str) -> ThreadPoolExecutor:
        """Return the thread of a mirror: a host that hangs must not hold up other projects."""
        if mirror not in self._git_threads:
            self._git_threads[mirror] = ThreadPoolExecutor(1, "bbops-git")
        return self._git_threads[mirror]

    def _work(self, request: Frame) -> Callable[[], Frame]:
        verbs = {
            "fetch": lambda: self._mirrors.fetch(
                request["url"], request["mirror"], request["branch"], request["project"]
            ),
            "branches": lambda: {"branches": self._sources.branches(request["repository"])},
            "remote branches": lambda: self._mirrors.branches(request["url"], request["mirror"]),
            "push tag": lambda: self._mirrors.push_tag(
                request["url"], request["mirror"], request["tag"]
            ),
            "tag": lambda: self._sources.tag(
                request["repository"], request["commit"], request["facts"], request["folder"]
            ),
            "versions": lambda: self._sources.versions(request["repository"], request["folder"]),
            "summary": lambda: summarize(
                self._sources, request["base"], request["source"], request["engine"]
            ),
            "roll back": lambda: self._sources.roll_back(request),
            "descends": lambda: self._descends(request),
            "resolve": lambda: self._sources.resolve(request["repository"], request["branch"]),
            "build": lambda: self._build(
                request["source"],
                Path(request["artifacts"]),
                request.get("off", ()),
                request.get("engine", "sqlite"),
            ),
            "find secret": lambda: {
                "found": self._search.find(
                    Path(request["state"]), request["frontend"], request["values"]
                )
            },
            "publish frontend": lambda: self._publish_frontend(request),
            "frontends": lambda: self._sources.versions(
                request["repository"], frontend_scope(request["folder"])
            ),
            "is dirty": lambda: {
                "is_dirty": is_dirty(Path(request["repository"]), request["branch"])
            },
            "check": lambda: self._check(
                request["source"], request["old"], request["off"], request["engine"]
            ),
            "contract": lambda: self._contracts.write(
                request["source"], request["form"], request["url"], request["engine"]
            ),
            "trees": lambda: self._sources.store(
                request["repository"], request["quarantine"]
            ).trees(request["commits"]),
            "stop": dict,  # its turn comes when everything before it is done
        }
        if request["do"] not in verbs:
            raise ServerError(f"the build process has no '{request['do']}'")
        return verbs[request["do"]]

    def _descends(self, request: Frame) -> Frame:
        found = self._sources.descends(request["repository"], request["old"], request["new"])
        return {"descends": found}

    def _build(self, source: Source, artifacts: Path, off: Sequence[str], engine: Engine) -> Frame:
        started = time.monotonic()
        tree, cache = self._sources.open(source)
        built = build(tree, cache, off=off, database=engine)
        tagged = find_tagged(self._sources, built, tree, source)
        built = check_tagged(built, tagged) if tagged else built
        answer = {
            "ok": built.project is not None,
            "diagnostics": [describe(one) for one in built.diagnostics],
            "digest": built.digest,
            "revision": tree.revision,
            "subject": self._sources.subject(source),
            "author": self._sources.author(source),
            "compiled": built.compiled,
            **self._keep(built, artifacts),
            "frontend": _keep_frontend(built, artifacts.parent, tagged or tree, bool(tagged)),
            "tagged": tagged.revision if tagged else "",
        }
        return answer | {"milliseconds": round(1000 * (time.monotonic() - started))}

    def _check(self, source: Source, old: str, off: Sequence[str], engine: Engine) -> Frame:
        """Check a commit that is pushed; `old` is what its branch held, empty for nothing."""
        tree, cache = self._sources.open(source)
        project, found = check(tree, cache, database=engine, off=off)
        store = self._sources.store(source["repository"], source.get("quarantine", ""))
        return {
            "ok": project is not None,
            "diagnostics": [describe(one) for one in found],
            "follows": not old or store.is_ancestor(old, source["commit"]),
        }

    async def _propose(self, request: Frame) -> Frame:
        read = partial(
            read_pair, self._sources, request["base"], request["source"], off=request["off"],
            engine=request["engine"],
        )  # fmt: skip
        pair = await asyncio.get_running_loop().run_in_executor(self._thread, read)
        place, tables = read_place(request["database"]), pair.tables
        migration = None if tables is None else await self._tables.plan(place, tables)
        found: Frame = await asyncio.to_thread(judge, pair, migration, describe)
        if migration is not None and request.get("digest") == found["digest"]:
            state, who = Path(request["state"]), request["agreed_by"]
            await asyncio.to_thread(agree, state, migration, who)
        return found

    async def _weigh(self, request: Frame) -> Frame:
        """Say what tables that are in no commit would do to the data."""
        tree = make_tree(Question(request["tables"]))
        loop = asyncio.get_running_loop()
        look = partial(check, tree, Cache(), database=request["engine"], off=())
        project, found = await loop.run_in_executor(self._thread, look)
        if project is None:
            raise ServerError(f"the tables have mistakes: {found[0].message}")
        tables = {name: one.model for name, one in project.tables.items()}
        return as_json(await self._tables.plan(read_place(request["database"]), tables))

    def _read(self, source: Source) -> tuple[Project | None, Sequence[Diagnostic]]:
        tree, cache = self._sources.open(source)
        return check(tree, cache, database="sqlite", off=())

    async def _copy(self, request: Frame) -> Frame:
        """Copy rows of what is live into a draft, whose commit says which tables there are."""
        loop = asyncio.get_running_loop()
        source = request["source"]
        project, found = await loop.run_in_executor(self._thread, self._read, source)
        if project is None:
            raise ProjectError(found)
        tables = {name: one.model for name, one in project.tables.items()}
        counts = await asyncio.to_thread(
            copy_rows, read_place(request["from"]), read_place(request["to"]), tables,
            request["tables"], limit=request["limit"], masked=request["masked"],
        )  # fmt: skip
        return {"rows": counts}

    async def _try(self, request: Frame) -> Frame:
        """Run the tests of a commit that is not to be served, whether or not they are a gate."""
        make = partial(
            self._compile, request["source"], off=request["off"], engine=request["engine"]
        )
        built = await asyncio.get_running_loop().run_in_executor(self._thread, make)
        if built.project is None:
            raise ProjectError(built.diagnostics)
        return _told(*await self._gate.run(Path(request["state"]), built))

    def _compile(self, source: Source, *, off: Sequence[str], engine: Engine) -> Built:
        tree, cache = self._sources.open(source)
        return build(tree, cache, off=off, database=engine)

    def _publish_frontend(self, request: Frame) -> Frame:
        """Tag a frontend that comes without a commit of the project, where it would be served."""
        tree, cache = self._sources.open(request["source"])
        project, found = check(tree, cache, database=request["engine"], off=())
        if project is None:
            raise ProjectError(found)
        settings = project.settings.model.frontend
        if settings is None:
            raise ServerError("project.yaml names no frontend", hint="write 'frontend: {}' there")
        if any(find_files(tree, settings.directory)):
            raise ServerError(
                f"'{settings.directory}' is in the project's commits, which publish it",
                hint="commit the new files, or take the folder out of git",
            )
        return dict(self._sources.publish_frontend(request))

    def _keep(self, built: Built, artifacts: Path) -> Frame:
        """Write the artifact and remember its tables; return what a release needs besides."""
        if built.project is None:
            return {
                "artifact": "", "env": {}, "project": "", "durability": "normal", "gate": False,
                "signs": "",
                "review": {},
            }  # fmt: skip
        path = artifacts / built.digest
        try:
            artifacts.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(path, built.artifact)
        except OSError as error:
            reason = (error.strerror or "no reason given").lower()
            raise ServerError(
                f"cannot write artifact '{path}': {reason}",
                hint="the state folder needs a disk that has room and may be written",
            ) from None
        settings = built.project.settings.model
        tables = {name: found.model for name, found in built.project.tables.items()}
        self._tables.remember(artifacts.parent, built.digest, tables)
        return {
            "artifact": str(path),
            "env": declared_env(built.project),
            "project": settings.name,
            "durability": settings.database.durability,
            "gate": self._gate.keep(artifacts.parent, built),
            "signs": settings.auth.key_name if settings.auth else "",
            "review": settings.review.model_dump(),
        }


def _keep_frontend(built: Built, state: Path, tree: Tree, is_tagged: bool) -> str:
    if built.project is None:
        return ""
    settings = built.project.settings.model.frontend
    return keep(state, built.project, tree, "" if is_tagged or not settings else settings.directory)


def _told(trial: Trial, seconds: float) -> Frame:
    """Return what tests gave."""
    found = [describe(one) for one in trial.found[:MOST_TOLD]]
    return {
        "cases": trial.cases, "failed": trial.failed, "seconds": seconds, "diagnostics": found,
    }  # fmt: skip


def describe(diagnostic: Diagnostic) -> Frame:
    """Return a diagnostic as it crosses to other processes and in JSON."""
    place = diagnostic.place
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        "severity": diagnostic.severity,
    }


def run(*, control: int) -> None:
    """Work until the parent says stop, or is gone."""
    asyncio.run(_run(control))
    # Not waiting for what is under way: files and tables change wholly or not.
    end_all()
    os._exit(0)


async def _run(control: int) -> None:
    start_logging()
    os.set_inheritable(control, False)  # noqa: FBT003 - its signature
    channel = await Channel.open(socket.socket(fileno=control))
    await answer_all(channel, Builder().handle)
