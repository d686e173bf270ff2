"""A server whose database is in trouble: reads are answered, writes are told when to come back."""

from __future__ import annotations

import json
import resource
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.running import Running

ROUNDS = 4
WRITERS = 8
READS = 20
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


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a database, as another program does that writes to it."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=PATIENCE_SECONDS)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("COMMIT")


@pytest.mark.long
def test_another_programs_lock_delays_writes_only(server: Running) -> None:
    assert server.publish(IMPATIENT)["release"] == "r1"
    path, acknowledged = server.state / "data.sqlite", list[str]()
    with (
        httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE_SECONDS) as client,
        ThreadPoolExecutor(WRITERS) as writers,
    ):

        def write(title: str) -> int:
            acknowledged.append(title)
            return add(client, title, "/wait").status_code

        for number in range(ROUNDS):
            with locked(path):
                titles = [f"{number}-{writer}" for writer in range(WRITERS)]
                waiting = [writers.submit(write, title) for title in titles]
                wait_for(server.is_asked)
                for _ in range(READS):
                    assert client.get("/notes").status_code == 200
                refused = add(client, "refused")
                assert refused.status_code == 503, refused.text
                assert int(refused.headers["retry-after"]) >= 1
                assert not any(one.done() for one in waiting)
            assert [one.result() for one in waiting] == [201] * WRITERS
            assert add(client, f"{number}-after").status_code == 201
            acknowledged.append(f"{number}-after")
    with closing(sqlite3.connect(path)) as connection:
        stored = {title for (title,) in connection.execute("SELECT title FROM notes")}
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert stored == {*acknowledged}
