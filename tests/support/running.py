"""A server in a process of its own, with its workers."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from tests.conftest import ROOT
from tests.support import warm
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.processes import children
from tests.support.small_project import write_project

SCRIPT = ROOT / "tests/support/serve_small_project.py"


class Running:
    def __init__(self, tmp_path: Path, workers: int, *, is_cold: bool = False) -> None:
        self.folder = write_project(tmp_path / "project")
        self.state = tmp_path / "state"
        environment = os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "config")}
        self.log = (tmp_path / "log").open("wb")
        if is_cold:
            environment[warm.COLD] = "1"
        self.process = warm.start(
            [self.folder, self.state, workers], script=SCRIPT,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
            cwd=tmp_path, env=environment,
        )  # fmt: skip
        self.first = self.read()
        self.url, self.control = self.first["data"], self.first["control"]

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, Path(self.log.name).read_text()
        return dict(json.loads(line))

    def say(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def publish(self, changes: dict[str, str]) -> dict[str, Any]:
        write_project(self.folder, changes)
        self.say("publish")
        return self.read()

    def is_asked(self) -> bool:
        """Return whether a request is under way."""
        self.say("status")
        return any(one["in_flight"] for one in self.read()["processes"])

    @property
    def data_pids(self) -> list[int]:
        return [one["pid"] for one in self.first["processes"]]

    def children(self) -> list[int]:
        return children(self.process.pid)

    def close(self) -> None:
        self.process.kill()
        with suppress(BrokenPipeError), self.process:
            pass
        self.log.close()


def get(url: str) -> httpx.Response:
    return httpx.get(url, timeout=PATIENCE_SECONDS, trust_env=False)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until_gone(pids: list[int]) -> None:
    wait_for(lambda: not any(map(is_alive, pids)))
