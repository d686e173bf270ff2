"""Commits go live under load: no client ever notices, except that answers change. Marker `long`."""

from __future__ import annotations

import asyncio
import statistics
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.raw import answers, head
from tests.support.served import Served, git
from tests.support.small_project import hello, write_project

CLIENTS = 32
COMMITS = 50
PATIENCE_SECONDS = 10


class Client:
    """One connection that is kept; asks as fast as it is answered."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.seen: Counter[tuple[int, str, int]] = Counter()
        self.slowest = 0.0
        self.connections = 0

    async def run(self, over: threading.Event) -> None:
        self.connections += 1
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        while not over.is_set():
            begun = time.perf_counter()
            writer.write(head("GET /hello HTTP/1.1"))
            async with asyncio.timeout(PATIENCE_SECONDS):
                received = await reader.readuntil(b"\r\n\r\n")
                length = int(received.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                received += await reader.readexactly(length)
            self.slowest = max(self.slowest, time.perf_counter() - begun)
            (answer,) = answers(received)
            version = msgspec.json.decode(answer.body)["version"]
            self.seen[answer.status, answer.headers["x-release"], version] += 1
        writer.close()


class Load(threading.Thread):
    """All clients, on an event loop of their own."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.clients = [Client(port) for _ in range(CLIENTS)]
        self.over = threading.Event()
        self.failures: list[BaseException] = []

    def run(self) -> None:
        async def all_of_them() -> list[Any]:
            asked = (client.run(self.over) for client in self.clients)
            return await asyncio.gather(*asked, return_exceptions=True)

        outcomes = asyncio.run(all_of_them())
        self.failures = [one for one in outcomes if isinstance(one, BaseException)]

    def end(self) -> None:
        self.over.set()
        self.join()


def commit(served: Served, version: int) -> tuple[str, float]:
    """Return the release of a commit, and the seconds until it was live."""
    write_project(served.repository, hello(version))
    begun = time.perf_counter()
    release = served.commit(f"Version {version}")[:12]
    assert served.live()["release"] == release
    return release, time.perf_counter() - begun


@pytest.mark.long
@pytest.mark.parametrize("workers", [1, 2])
def test_no_client_of_32_notices_any_of_50_commits(tmp_path: Path, workers: int) -> None:
    repository = write_project(tmp_path / "project")
    git(repository, "init", "-q", "-b", "main")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Version 1")
    versions = {git(repository, "rev-parse", "HEAD")[:12]: 1}
    with Served(repository, tmp_path / "home", "--workers", str(workers)) as served:
        served.live()
        load = Load(int(served.serving["url"].rpartition(":")[2]))
        load.start()
        seconds = []
        for version in range(2, COMMITS + 2):
            release, took = commit(served, version)
            versions[release] = version
            seconds.append(took)
        time.sleep(0.5)
        load.end()
        assert served.stop() == 0
        log = (served.home / "log").read_text()
    seen: Counter[tuple[int, str, int]] = sum((one.seen for one in load.clients), Counter())
    within = sum(took < 1 for took in seconds)
    print(
        f"\n{workers} data processes: {seen.total()} answers, {COMMITS} commits; live after"
        f" {statistics.median(seconds):.2f} s (median), {max(seconds):.2f} s (longest),"
        f" {within} within 1 s; slowest answer"
        f" {1000 * max(one.slowest for one in load.clients):.0f} ms"
    )
    assert load.failures == []
    assert {status for status, _, _ in seen} == {200}
    assert all(versions[release] == version for _, release, version in seen)
    assert len(seen) == len(versions)
    assert max(seconds) < PATIENCE_SECONDS
    assert "Traceback" not in log
