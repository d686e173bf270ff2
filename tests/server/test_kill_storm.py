"""`kill -9` of any process at any moment: what was acknowledged is there, nothing is half.

Commits, migrations and writes go on while processes die. Marker `long`.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import threading
import time
from pathlib import Path

import httpx
import pytest

from bbops.compiler.compile.release import build
from bbops.database.migrate import migrate
from bbops.source.tree import FolderTree
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.ports import free_port
from tests.support.processes import children
from tests.support.served import ADA, Served, make_project

KILLS = int(os.environ.get("BBOPS_KILLS", "15"))
PARENT_TOO = 0.25
PAUSE_SECONDS = 0.01
SEED = 20261121


class Storm:
    """A server on fixed ports that is started again when it dies, with a writer and a pusher."""

    def __init__(self, repository: Path, home: Path) -> None:
        self.repository, self.home = repository, home
        self.ports = ["--port", str(free_port()), "--control-port", str(free_port())]
        self.url = f"http://127.0.0.1:{self.ports[1]}"
        self.random = random.Random(SEED)
        self.acknowledged: list[str] = []
        self.commits = 0
        self.over = threading.Event()
        self.server = self.start()
        self.token = self.sign_up()

    def start(self) -> Served:
        started = wait_for(self._try_to_start)
        assert started is not None
        return started

    def _try_to_start(self) -> Served | None:
        """Return a server, or None while an orphan of the last one holds the port."""
        with contextlib.suppress(AssertionError):
            return Served(self.repository, self.home, *self.ports)
        return None

    def sign_up(self) -> str:
        """Return the token of an account that is made before anybody is killed."""
        self.wait_until_ready()
        reply = httpx.post(f"{self.url}/api/auth/register", json=ADA, timeout=PATIENCE_SECONDS)
        token: str = reply.json()["token"]
        return token

    def write(self) -> None:
        """Write notes for ever; only a 201 counts as acknowledged."""
        number = 0
        while not self.over.wait(PAUSE_SECONDS):
            try:
                number += 1
                title = f"note {number}"
                reply = httpx.post(
                    f"{self.url}/api/v1/notes", json={"title": title},
                    headers={"authorization": f"Bearer {self.token}"}, timeout=PATIENCE_SECONDS,
                )  # fmt: skip
                if reply.status_code == 201:
                    self.acknowledged.append(title)
            except (httpx.HTTPError, ValueError):
                continue  # the server was killed

    def push(self) -> None:
        """Commit for ever: code, new tables, new columns, and mistakes."""
        while not self.over.wait(PAUSE_SECONDS):
            self.commits += 1
            kind = self.commits % 4
            file = self.repository / f"tables/extra{self.commits // 4}.yaml"
            if kind == 0:
                file.write_text("columns:\n  id: { type: integer, primaryKey: true }\n")
            elif kind == 1 and file.exists():
                file.write_text(file.read_text() + "  more: { type: string, default: x }\n")
            elif kind == 2:
                (self.repository / "functions/broken.yaml").write_text("steps: [\n")
            else:
                (self.repository / "functions/broken.yaml").unlink(missing_ok=True)
                (self.repository / "README.md").write_text(f"{self.commits}\n")
            with contextlib.suppress(subprocess.CalledProcessError):
                self.server.commit(f"Commit {self.commits}")

    def wait_until_ready(self) -> None:
        """Wait until it serves again: a process that never lives is not killed in the act."""
        url = f"{self.url}/~ready"
        wait_for(lambda: httpx.get(url, timeout=PATIENCE_SECONDS).status_code == 200)

    def kill_some(self) -> list[str]:
        """Kill random processes of the server at one blow; start it again without its parent."""
        parent = self.server.process.pid
        found = children(parent)
        victims = self.random.sample(found, self.random.randint(min(1, len(found)), len(found)))
        if self.random.random() < PARENT_TOO:
            victims.append(parent)
        for victim in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        if parent in victims:
            self.server.stop()
            self.server = self.start()
        return ["parent" if victim == parent else "child" for victim in victims]


@pytest.mark.long
def test_every_acknowledged_row_survives_kills_of_all_processes(tmp_path: Path) -> None:
    storm = Storm(make_project(tmp_path / "sample"), tmp_path / "home")
    (storm.repository / "channels/notes-v1.yaml").write_text(
        (storm.repository / "channels/notes-v1.yaml").read_text().replace("rateLimit: 600\n", "")
    )
    threads = [threading.Thread(target=storm.write), threading.Thread(target=storm.push)]
    for thread in threads:
        thread.start()
    killed: list[str] = []
    blows = 0
    while len(killed) < KILLS:
        blows += 1
        storm.wait_until_ready()
        time.sleep(storm.random.uniform(0, 0.3))
        killed += storm.kill_some()
    storm.over.set()
    for thread in threads:
        thread.join()
    (storm.repository / "functions/broken.yaml").unlink(missing_ok=True)
    (storm.repository / "README.md").write_text("the end\n")
    last = storm.server.commit("The end")
    wait_for(lambda: storm.server.status()["release"] == last[:12])
    answer = httpx.get(f"{storm.url}/api/me", timeout=PATIENCE_SECONDS)
    assert answer.headers["x-release"] == last[:12]
    assert storm.server.stop() == 0
    assert {"parent", "child"} <= set(killed)
    data = storm.repository / ".bbops/state/data.sqlite"
    with contextlib.closing(sqlite3.connect(data)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        stored = {title for (title,) in connection.execute("SELECT title FROM notes")}
    assert len(storm.acknowledged) > blows
    assert set(storm.acknowledged) <= stored
    project = build(FolderTree(storm.repository)).project
    assert project is not None
    tables = {name: table.model for name, table in project.tables.items()}
    assert migrate.plan(data, tables).is_empty
