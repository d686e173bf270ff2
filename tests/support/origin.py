"""A repository elsewhere, and a server that follows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.served import LIST, PAGE, Served, git, make_project

QUICK = ("--poll", "0.3")
SLOW = ("--poll", "3600")


class Origin:
    """A bare repository, and the work tree that pushes to it."""

    def __init__(self, folder: Path) -> None:
        self.work = make_project(folder / "work")
        self.bare = folder / "sample.git"
        git(folder, "clone", "-q", "--bare", str(self.work), str(self.bare))
        git(self.work, "remote", "add", "origin", str(self.bare))
        self.url = f"file://{self.bare}"
        self.fields = 0

    def push(self, *options: str) -> str:
        """Change what `/api/v1/notes` answers, and push it; return the commit."""
        self.fields += 1
        path = self.work / LIST
        text = path.read_text().replace(PAGE, f"{PAGE}\n        field{self.fields}: 1")
        path.write_text(text)
        return self.push_all("commit", "-qam", f"Add field {self.fields}", options=options)

    def push_all(self, *arguments: str, options: tuple[str, ...] = ()) -> str:
        """Run git in the work tree and push what that made; return the commit."""
        git(self.work, *arguments)
        git(self.work, "push", "-q", *options, "origin", "main")
        git(self.bare, "update-server-info")
        return git(self.work, "rev-parse", "HEAD")


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path)


@pytest.fixture
def serve(origin: Origin, tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Serve the origin by an address, and stop that in the end."""
    started: list[Served] = []

    def start(*arguments: str, address: str = origin.url, env: dict[str, str] | None = None):  # type: ignore[no-untyped-def]  # noqa: ANN202
        served = Served(origin.bare, tmp_path / "home", *arguments, address=address, env=env)
        started.append(served)
        return served

    yield start
    for served in started:
        served.stop()
