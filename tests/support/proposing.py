"""People who propose: by git, and by the API of proposals."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bbops_server.accounts.rules import Scope
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.pushing import Clone, World
from tests.support.small_project import FILES

REVIEWED = {"project.yaml": f"{FILES['project.yaml']}review: {{ main: proposals, approvals: 1 }}\n"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("world")) as world:
        yield world


class Asking:
    """The API of proposals, asked by somebody."""

    def __init__(self, world: World, name: str, project: str = "shop") -> None:
        token = world.token(name, scopes=[Scope.DEPLOY])
        self.url = f"{world.serving['control_url']}/api/projects/{project}/proposals"
        self.headers = {"authorization": f"Bearer {token}"}

    def ask(self, path: str = "") -> httpx.Response:
        return httpx.get(self.url + path, headers=self.headers, timeout=PATIENCE_SECONDS)

    def get(self, number: int) -> dict[str, Any]:
        answer = self.ask(f"/{number}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def post(self, path: str, **body: Any) -> httpx.Response:
        return httpx.post(
            self.url + path, json=body, headers=self.headers, timeout=PATIENCE_SECONDS
        )

    def say(self, number: int, verdict: str, **more: str) -> httpx.Response:
        return self.post(f"/{number}/review", verdict=verdict, **more)

    def merge(self, number: int, **more: str) -> httpx.Response:
        return self.post(f"/{number}/merge", **more)


def propose(clone: Clone, topic: str, *options: str) -> int:
    """Push this branch as a proposal and return its number."""
    done = clone.push(*options, "origin", f"HEAD:refs/for/main/{topic}")
    assert done.code == 0, done.text
    found = re.search(r"(?:opened|updated) proposal #(\d+)", done.text)
    assert found is not None, done.text
    return int(found[1])


def wait_for_tests(asking: Asking, number: int) -> dict[str, Any]:
    """Return what the tests of a proposal say, once they are over."""

    def find() -> Any:
        time.sleep(0.2)  # looking is work for the process that runs the tests
        found = asking.get(number)["tests"]
        return found if found["state"] != "running" else None

    told: dict[str, Any] = wait_for(find)
    return told


def commit_alone(clone: Clone, changes: dict[str, str]) -> None:
    """Commit these files on top of what the clone has; everything else stays as it is."""
    for path, text in changes.items():
        (clone.folder / path).write_text(text)
    clone.git("add", "-A")
    clone.git("commit", "-qm", "Change")
