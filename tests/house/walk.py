"""`python -m tests.house.walk [request|commit|file|proposal|env]` prints the files that one passes.

A real server is started with `tests/house/tracing` on its path, so each of its processes notes the
files that its threads enter. What a server also does while nobody asks anything is left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Final, Self

import httpx

from tests.conftest import ROOT
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.pushing import World
from tests.support.served import environment
from tests.support.small_project import hello, write_project

IDLE_SECONDS: Final = 6.0
QUIET_SECONDS: Final = 1.0
PROJECTS: Final = ("shop", "copy", "left", "away")
HELLO: Final = 2
"""The version of `/hello` that is pushed."""
NAMES: Final = ("request", "commit", "file", "proposal", "env")


class Walks:
    """A server whose processes note where they are."""

    def __init__(self, folder: Path) -> None:
        self.notes = folder / "notes"
        self.notes.mkdir()
        self._before = dict(os.environ)
        os.environ["BBOPS_WALK"] = str(self.notes)
        os.environ["PYTHONPATH"] = str(ROOT / "tests/house/tracing")
        self.world = World(folder / "world")
        for project in PROJECTS:  # what is idle publishes nothing
            wait_for(lambda project=project: self.hello(project).status_code == httpx.codes.OK)
        self.idle = set(self._during(lambda: time.sleep(IDLE_SECONDS)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.world.__exit__()
        os.environ.clear()
        os.environ.update(self._before)

    def hello(self, project: str = "shop") -> httpx.Response:
        return httpx.get(f"{self.world.serving['url']}/{project}/hello", timeout=PATIENCE_SECONDS)

    @property
    def live(self) -> str:
        """The release that answers."""
        return self.hello().headers["x-release"]

    def _during(self, act: Callable[[], object]) -> list[str]:
        began = time.time_ns()
        act()
        time.sleep(QUIET_SECONDS)
        lines = (line for file in self.notes.iterdir() for line in file.read_text().splitlines())
        pairs = sorted(
            (int(at), module) for at, _, module in (line.partition(" ") for line in lines)
        )
        return [module for at, module in pairs if at > began]

    def walk(self, act: Callable[[], object]) -> list[str]:
        """Return the modules that are entered meanwhile, each once, in order."""
        found = (module for module in self._during(act) if module not in self.idle)
        return list(dict.fromkeys(found))

    @contextmanager
    def _published(self) -> Iterator[None]:
        """Wait for the publication that the block causes, without a request of our own."""
        while not self.world.events.empty():
            self.world.events.get()
        yield
        self.world.until("live", "shop")

    def request(self) -> None:
        """Ask a project for something that it writes."""
        url = f"{self.world.serving['url']}/shop/notes"
        answer = httpx.post(url, json={"title": "one"}, timeout=PATIENCE_SECONDS)
        assert answer.status_code == httpx.codes.CREATED

    def commit(self) -> None:
        """Push to main, until it is live."""
        clone = self.world.clone()
        clone.commit(hello(HELLO))
        with self._published():
            assert clone.push().code == 0

    def proposal(self) -> None:
        """Propose a change."""
        clone = self.world.clone("developer")
        clone.commit(hello(3))
        assert clone.push("origin", "HEAD:refs/for/main").code == 0

    def file(self) -> None:
        """Validate a folder of files."""
        folder = write_project(self.world.folder / "validated")
        command = [sys.executable, "-m", "bbops", "validate", str(folder)]
        home = environment(self.world.folder / "nobody")  # where no result is remembered
        subprocess.run(command, check=True, capture_output=True, env=home)

    def env(self) -> None:
        """Set a value that the live release reads."""
        at = ("--project", "shop", "--state", str(self.world.state))
        with self._published():
            done = self.world.bbops("env", "set", "GREETING", "hi", *at)
            assert done.returncode == 0, done.stderr


def rooms(walk: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the rooms of a walk, and the files passed in each, without its name."""
    for room, modules in groupby(walk, lambda one: ".".join(one.split(".")[:2])):
        yield room, [one.removeprefix(room).lstrip(".") or "__init__" for one in modules]


def main(asked: list[str]) -> int:
    """Print the walks that are asked for, or all."""
    with tempfile.TemporaryDirectory() as folder, Walks(Path(folder)) as walks:
        for name in asked or NAMES:
            act = getattr(walks, name)
            print(f"{name}: {act.__doc__}")
            for room, files in rooms(walks.walk(act)):
                print(f"  {room}: {' '.join(files)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
