"""Each awake draft has a process of its own: bound, quiet, and nothing to what is live."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bbops_server.process.forks.limits import UNRESPONSIVE_SECONDS
from tests.support.draft_processes import (
    cpu_ticks,
    environment,
    forked,
    niceness,
    open_files,
    own_mib,
    started,
)
from tests.support.hostile_drafts import enter, function, make, push
from tests.support.patience import wait_for
from tests.support.served import Served
from tests.support.several import Several

pytestmark = pytest.mark.long

DATA = "bbops_server.data_plane "
SECRET = "a-live-secret-that-no-draft-may-see"
ECHO = function(
    "input: { text: string }\nsteps:\n  - return: { value: { text: '${ input.text }' } }\n",
    method="POST", name="echo",
)  # fmt: skip
BIG = function(
    'steps:\n  - sql: { statement: "SELECT hex(zeroblob(1500000)) AS text" }\n    as: rows\n'
    "  - return: { value: '${ vars.rows }' }\n", name="big",
)  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    box = tmp_path_factory.mktemp("processes")
    files = {**ECHO, **BIG}
    with Served(make(box / "small", files), box / "home", env={"SECRET": SECRET}) as server:
        server.live()
        yield server


@contextmanager
def draft_of(served: Served, branch: str) -> Iterator[httpx.Client]:
    """Make a branch and yield a client that is let into its draft."""
    push(served, branch, {"README.md": branch})
    with enter(served, branch) as client:
        wait_for(lambda: client.get("hello").status_code == 200)
        yield client


def process_of(served: Served, branch: str) -> int:
    """Return the process that has a draft's database open."""
    at = f"/drafts/{branch}/"
    (found,) = wait_for(
        lambda: [
            pid for pid in forked(served) if any(at in one for one in open_files(pid))
        ]
    )  # fmt: skip
    return int(found)


def test_a_draft_has_a_process_of_its_own_and_the_live_ones_know_nothing_of_it(
    served: Served,
) -> None:
    with draft_of(served, "own") as client:
        assert client.post("notes", json={"title": "x"}).status_code == 201
        pid = process_of(served, "own")
        assert niceness(pid) == 19
        for live in started(served, DATA):
            assert pid != live
            assert not [one for one in open_files(live) if "/drafts/" in one]
        live_state = str(served.repository.parent / "home")
        mine = [one for one in open_files(pid) if "sqlite" in one]
        assert mine
        assert all("/drafts/own/" in one for one in mine), (mine, live_state)


def test_a_draft_gets_none_of_the_servers_values(served: Served) -> None:
    with draft_of(served, "bare"):
        told = environment(process_of(served, "bare"))
        assert SECRET not in told
        assert "SECRET" not in told
        memory = read_memory(process_of(served, "bare"))
        assert SECRET.encode() not in memory


def read_memory(pid: int) -> bytes:
    found = []
    with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights, *_ = line.split()
            if rights.startswith("rw"):
                first, last = (int(one, 16) for one in span.split("-"))
                try:
                    memory.seek(first)
                    found.append(memory.read(last - first))
                except (OSError, ValueError, OverflowError):
                    continue
    return b"".join(found)


def test_a_draft_is_bound_in_memory_files_and_size(served: Served) -> None:
    with draft_of(served, "bound"):
        pid = process_of(served, "bound")
        for kind, most in (
            (resource.RLIMIT_DATA, 256 << 20), (resource.RLIMIT_FSIZE, 192 << 20),
            (resource.RLIMIT_NOFILE, 256), (resource.RLIMIT_CORE, 0),
        ):  # fmt: skip
            assert resource.prlimit(pid, kind) == (most, most)
        assert own_mib(pid) < 40


def test_a_draft_that_nobody_asks_takes_no_processor_time(served: Served) -> None:
    with draft_of(served, "quiet"):
        pid = process_of(served, "quiet")
        wait_for(lambda: is_still(pid))


def is_still(pid: int) -> bool:
    before = cpu_ticks(pid)
    time.sleep(2)
    return cpu_ticks(pid) == before


def test_long_texts_cross_both_ways(served: Served) -> None:
    with draft_of(served, "long") as client:
        text = "é" * 400_000
        assert client.post("echo", json={"text": text}).json()["text"] == text
        assert len(client.get("big").json()[0]["text"]) == 3_000_000
        assert (
            client.head("big").headers["content-length"]
            == client.get("big").headers["content-length"]
        )


def test_a_body_that_is_too_large_is_refused_as_it_is_live(served: Served) -> None:
    with draft_of(served, "large") as client:
        text = "x" * 3_000_000
        assert served.api.post("/echo", json={"text": text}).status_code == 413
        assert client.post("echo", json={"text": text}).status_code == 413


def test_a_process_that_ends_costs_its_own_requests_and_comes_back(served: Served) -> None:
    with draft_of(served, "mortal") as client:
        pid = process_of(served, "mortal")
        told: list[Any] = []
        asking = threading.Thread(target=lambda: told.append(client.get("slow")))
        asking.start()
        wait_for(lambda: cpu_ticks(pid) > 20)  # it computes
        os.kill(pid, signal.SIGKILL)
        asking.join(30)
        assert told[0].status_code == 502
        assert told[0].json()["error"]["code"] == "draftEnded"
        assert served.api.get("/hello").json()["version"] == 1
        # a request that comes in as it dies may be lost with it
        assert wait_for(lambda: client.get("hello").status_code == 200)
        assert process_of(served, "mortal") != pid


def test_a_draft_whose_process_ends_again_and_again_is_told_as_failed(served: Served) -> None:
    with draft_of(served, "doomed") as client:
        for _ in range(3):
            wait_for(lambda: client.get("hello").status_code == 200)
            pid = process_of(served, "doomed")
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: pid not in forked(served))  # noqa: B023
        told = wait_for(lambda: (reply := client.get("hello")).status_code == 503 and reply)
        assert "crashed too often" in told.json()["error"]["message"]
        (found,) = [
            one for one in served.control.get("/api/projects/small/drafts").json()
            if one["branch"] == "doomed"
        ]  # fmt: skip
        assert found["state"] == "stalled"
        before = forked(served)
        for _ in range(20):
            client.get("hello")
        assert set(forked(served)) <= set(before)  # no loop of restarts
        assert served.api.get("/hello").json()["version"] == 1


def test_a_process_that_does_not_answer_is_ended_by_its_parent(served: Served) -> None:
    with draft_of(served, "hanging") as client:
        pid = process_of(served, "hanging")
        wait_for(lambda: is_still(pid))
        time.sleep(UNRESPONSIVE_SECONDS)  # now it is left alone until somebody asks
        os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        reply = client.get("hello")
        assert reply.status_code == 502
        assert 8 < time.monotonic() - began < 40
        assert served.api.get("/hello").json()["version"] == 1
        assert client.get("hello").status_code == 200


def test_a_server_that_ends_leaves_no_process_behind(tmp_path: Path) -> None:
    with Served(make(tmp_path / "small"), tmp_path / "home") as served:
        served.live()
        with draft_of(served, "topic"):
            pids = [*forked(served), *started(served, "zygote")]
        assert served.stop() == 0
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


def test_a_server_that_is_killed_leaves_no_process_behind(tmp_path: Path) -> None:
    with Served(make(tmp_path / "small"), tmp_path / "home") as served:
        served.live()
        with draft_of(served, "topic"):
            pids = [*forked(served), *started(served, "zygote")]
        assert len(pids) >= 2
        served.stop(signal.SIGKILL)
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


def test_only_so_many_drafts_are_awake_and_the_others_say_so(tmp_path: Path) -> None:
    make(tmp_path / "small")
    text = "drafts: { awake: 1 }\nprojects: { small: { repository: small } }\n"
    with Several(tmp_path, text) as served:
        served.repository = tmp_path / "small"
        served.until("live", "small")
        with draft_of(served, "first") as first:
            push(served, "second", {"README.md": "second"})
            with enter(served, "second") as second:
                reply = second.get("hello")
                assert reply.status_code == 503
                assert "only 1 draft can run at a time" in reply.json()["error"]["message"]
                assert first.get("hello").status_code == 200
                assert len(forked(served)) == 1
