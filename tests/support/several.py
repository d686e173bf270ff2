"""A server of several projects, which are named in its file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.patience import PATIENCE_SECONDS
from tests.support.served import Served, git
from tests.support.small_project import hello, write_project

TWO = """
projects:
  one: { repository: ./one, pathPrefix: /one }
  two: { repository: ./two, hosts: [two.test] }
"""
YAML = "server.yaml"


class Several(Served):
    """A server of a file; its events come from several projects, in any order."""

    def __init__(self, folder: Path, text: str, *arguments: str, env: Any = None) -> None:
        self.file = folder / YAML
        if text:
            self.file.write_text(text)
        super().__init__(self.file, folder / "home", *arguments, env=env)

    def until(
        self, kind: str, project: str = "", seconds: float = PATIENCE_SECONDS
    ) -> dict[str, Any]:
        """Return the next event of a kind and project; others are passed over."""
        until = time.monotonic() + seconds
        while True:
            found = self.events.get(timeout=max(0.01, until - time.monotonic()))
            if (found["event"], found.get("project", "")) == (kind, project):
                return found

    def change(self, text: str) -> None:
        """Replace the file as an editor would."""
        beside = self.file.with_suffix(".new")
        beside.write_text(text)
        beside.rename(self.file)

    def ask(self, path: str, host: str = "localhost", method: str = "GET") -> httpx.Response:
        return self.api.request(method, path, headers={"host": host})

    def commit_version(self, name: str, version: int) -> str:
        """Make `/hello` of a project answer another version; return the commit."""
        folder = self.file.parent / name
        write_project(folder, hello(version))
        git(folder, "commit", "-qam", f"Version {version}")
        return git(folder, "rev-parse", "HEAD")

    def told(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.control.get(f"/api/projects/{name}/status").json()
        return found

    def reason(self, name: str) -> str:
        """Return why the newest commit of a project is not live."""
        (found,) = [one for one in self.told(name)["conditions"] if one["type"] == "Stalled"]
        return str(found["reason"])

    @property
    def state(self) -> Path:
        return self.file.parent / ".bbops/state"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one", "two", "three"):
        make(tmp_path / name)
    return tmp_path


def make(folder: Path) -> Path:
    write_project(folder, {"project.yaml": f"bbops: 1\nname: {folder.name}\n" + ENV})
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Start")
    return folder


ENV = "env:\n  GREETING: { default: hello }\n  SECRET: { secret: true, generate: true }\n"


@pytest.fixture
def serve(folder: Path) -> Iterator[Callable[..., Several]]:
    started: list[Several] = []

    def start(text: str = TWO, *arguments: str, live: tuple[str, ...] = ("one", "two"),
              env: Any = None) -> Several:  # fmt: skip
        served = Several(folder, text, *arguments, env=env)
        started.append(served)
        waiting = set(live)
        while waiting:
            found = served.events.get(timeout=PATIENCE_SECONDS)
            if found["event"] == "live":
                waiting.discard(found["project"])
        return served

    yield start
    for served in started:
        served.stop()
