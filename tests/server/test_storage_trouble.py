"""A server whose database is in trouble: reads are answered, writes are told when to come back."""

from __future__ import annotations

import json
import resource
import sqlite3
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.support.patience import PATIENCE_SECONDS
from tests.support.running import Running

LOCK_SECONDS = 2.0
FREE_SECONDS = 0.3
ROUNDS = 4
IMPATIENT = {
    "endpoints/add.yaml": (
        "method: POST\npath: /notes\nfunction: add\nauthentication: None\ntimeout: 500ms\n"
    ),
    "endpoints/wait.yaml": "method: POST\npath: /wait\nfunction: add\nauthentication: None\n",
    "functions/list.yaml": (
        "steps:\n  - find: { table: notes, limit: 20 }\n    as: notes\n"
        "  - return: { value: '${ vars.notes }' }\n"
    ),
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path, 1)
    yield running
    running.close()


def add(client: httpx.Client, title: str, path: str = "/notes") -> httpx.Response:
    return client.post(path, json={"title": title})


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs Linux")
def test_a_disk_that_is_full_stops_writes_only_and_only_as_long_as_it_is(server: Running) -> None:
    with httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE_SECONDS) as client:
        assert add(client, "before").status_code == 201
        (pid,) = server.data_pids
        limits = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        log = (server.state / "data.sqlite-wal").stat().st_size
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (log, limits[1]))
        for _ in range(5):
            refused = add(client, "x" * 5_000)
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "10"
            assert refused.json()["error"]["code"] in {"storageFull", "storageFailed"}
            assert client.get("/notes").json()[0]["title"] == "before"
        resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
        assert add(client, "after").status_code == 201
        assert [one["title"] for one in client.get("/notes").json()] == ["before", "after"]
    (line,) = Path(server.log.name).read_text().splitlines()
    assert "free space" in json.loads(line)["hint"]


class Crowd:
    """Threads that read or write until they are told to stop."""

    def __init__(self, url: str) -> None:
        self.url, self.over = url, threading.Event()
        self.seconds: list[float] = []
        self.answers: Counter[str] = Counter()
        self.acknowledged: list[str] = []
        self.threads: list[threading.Thread] = []

    def read(self) -> None:
        with httpx.Client(base_url=self.url, trust_env=False, timeout=30) as client:
            while not self.over.is_set():
                begun = time.perf_counter()
                assert client.get("/notes").status_code == 200
                self.seconds.append(time.perf_counter() - begun)
                time.sleep(0.005)

    def write(self, number: int) -> None:
        path = "/notes" if number % 2 else "/wait"
        with httpx.Client(base_url=self.url, trust_env=False, timeout=60) as client:
            for count in range(100_000):
                if self.over.is_set():
                    return
                title = f"{number}-{count}"
                reply = add(client, title, path)
                self.answers[f"{path} {reply.status_code}"] += 1
                if reply.status_code == 201:
                    self.acknowledged.append(title)
                else:
                    assert reply.status_code == 503, reply.text
                    assert int(reply.headers["retry-after"]) >= 1
                time.sleep(0.01)

    def run(self, seconds: float, *, writers: int, meanwhile: object = None) -> None:
        jobs = [threading.Thread(target=self.read)]
        jobs += [threading.Thread(target=self.write, args=(n,)) for n in range(writers)]
        for thread in jobs:
            thread.start()
        if callable(meanwhile):
            meanwhile()
        else:
            time.sleep(seconds)
        self.over.set()
        for thread in jobs:
            thread.join()

    def p99_ms(self) -> float:
        return 1000 * statistics.quantiles(self.seconds, n=100)[98]


def hold_the_lock(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as other:
        for _ in range(ROUNDS):
            other.execute("BEGIN IMMEDIATE")
            time.sleep(LOCK_SECONDS)
            other.execute("COMMIT")
            time.sleep(FREE_SECONDS)


@pytest.mark.long
def test_another_programs_lock_of_2_seconds_delays_writes_only(server: Running) -> None:
    assert server.publish(IMPATIENT)["release"] == "r1"
    idle, locked = Crowd(server.url), Crowd(server.url)
    idle.run(3, writers=8)
    path = server.state / "data.sqlite"
    locked.run(0, writers=8, meanwhile=lambda: hold_the_lock(path))
    print(f"\nreads, p99: {idle.p99_ms():.1f} ms beside writes, {locked.p99_ms():.1f} ms locked")
    print(f"reads, longest: {1000 * max(locked.seconds):.1f} ms; {dict(locked.answers)}")
    with closing(sqlite3.connect(path)) as connection:
        stored = {title for (title,) in connection.execute("SELECT title FROM notes")}
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert set(idle.acknowledged + locked.acknowledged) <= stored
    assert locked.answers["/notes 503"] > 0
    assert locked.answers["/wait 201"] > 0
    assert not locked.answers["/wait 503"]
    # one machine's noise aside: a read that waited for the lock would take 2,000 ms
    assert locked.p99_ms() < max(100, 5 * idle.p99_ms())
