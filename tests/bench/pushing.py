"""Pushes to a whole server by the real git client: until they are live, and beside live traffic."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from statistics import median

import httpx

from bbops.source.git import store
from bbops_server.process.messages.builds import CheckedPush, CheckPush
from bbops_server.publish.build.worker import BuildProcess
from tests.bench.again import again
from tests.bench.figures import Figure
from tests.bench.load.generator import keep_rate
from tests.bench.project import large_project, served_project
from tests.bench.publishing import CHANGED, RATE
from tests.bench.shots import HELLO
from tests.support.served import Served, git

PAUSE_SECONDS = 0.3


class _Clone:
    """A clone of a served project, whose file of one version is changed again and again."""

    def __init__(self, served: Served, folder: Path, project: str) -> None:
        self.folder, self.version = folder, 1
        url = f"{served.serving['control_url']}/git/{project}.git"
        git(folder.parent, "clone", "-q", url, str(folder))

    def push(self) -> float:
        """Commit another version and push it; return how long the push takes."""
        self.commit()
        began = time.perf_counter()
        git(self.folder, "push", "-q", "origin", "HEAD:main")
        return time.perf_counter() - began

    def commit(self) -> str:
        """Commit another version and return the commit."""
        file = self.folder / CHANGED
        old, self.version = f"version: {self.version}", self.version + 1
        file.write_text(file.read_text().replace(old, f"version: {self.version}"))
        git(self.folder, "commit", "-qam", f"Version {self.version}")
        return git(self.folder, "rev-parse", "HEAD")


def measure_pushes(folder: Path, *, files: int, pushes: int) -> list[Figure]:
    """Push one changed file of many, again and again."""
    repository = _repository(folder, large_project(files))
    with Served(repository, folder / "home") as served:
        name = _name(served)
        clone = _Clone(served, folder / "clone", name)
        took = [clone.push() for _ in range(pushes)]
        url = served.api.get(HELLO.paths[0])
    assert url.status_code == HELLO.status
    checked = asyncio.run(_check(repository, clone, pushes))
    return [
        Figure(f"git push of one of {files:,} files, until it is live", median(took), "s", 0.5),
        Figure(f"of that, the check of {files:,} files", 1000 * median(checked), "ms", 50),
    ]


async def _check(repository: Path, clone: _Clone, times: int) -> list[float]:
    """Check commits as the build process does for `pre-receive`, but for the first."""
    builder, found = BuildProcess(), list[float]()
    old = git(clone.folder, "rev-parse", "HEAD")
    for _ in range(times + 1):
        new = await asyncio.to_thread(clone.commit)
        source = {
            "kind": "git", "repository": str(repository), "commit": new, "branch": "main",
            "path": "", "quarantine": str(clone.folder / ".git/objects"),
        }  # fmt: skip
        began = time.perf_counter()
        asked = CheckPush(source, old, "sqlite", bounds=False, live="", off=())
        answer = await builder.service.handle(asked)
        found.append(time.perf_counter() - began)
        assert isinstance(answer, CheckedPush)
        assert (answer.ok, answer.follows) == (True, True)
        old = new
    return found[1:]


def measure_beside(folder: Path, *, seconds: float) -> list[Figure]:
    """Ask at a fixed rate while nothing happens, and while somebody pushes again and again."""
    repository = _repository(folder, served_project())
    with Served(repository, folder / "home") as served:
        clone = _Clone(served, folder / "clone", _name(served))
        port = httpx.URL(served.api.base_url).port
        assert port is not None
        keep_rate(HELLO, port, min(seconds, 1.0), RATE)
        idle = keep_rate(HELLO, port, seconds, RATE)
        with again(clone.push, pause_seconds=PAUSE_SECONDS) as took:
            busy = keep_rate(HELLO, port, seconds, RATE)
    return [
        Figure(f"{RATE:,}/s, idle before pushes: p99", idle.p99, "ms"),
        Figure(f"{RATE:,}/s, while pushing: failed", busy.failed, "", 0),
        Figure(f"{RATE:,}/s, while pushing: p99", busy.p99, "ms"),
        Figure("pushes that went live meanwhile", len(took), ""),
        Figure("p99 while pushing to p99 idle", busy.p99 / idle.p99, "times", 4.0),
    ]


def _name(served: Served) -> str:
    served.live()
    (project,) = served.control.get("/api/projects").json()
    return str(project["name"])


def _repository(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    made = {name: text.encode() for name, text in files.items()}
    store.init(folder / "made", made, message="Start")
    git(folder, "clone", "-q", "--bare", "made", "project.git")
    return folder / "project.git"
