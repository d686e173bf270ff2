"""Drafts that do all the harm they can, beside live traffic: nobody notices but who asks them.

A block of requests while the drafts are stopped and one while they work take turns, and their
medians are compared: what else this machine does falls on both.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from bbops_server.data_plane.drafts.usage import read_folder_bytes
from bbops_server.process.forks.limits import DRAFT, DRAFT_FOLDER_BYTES
from tests.conftest import ROOT
from tests.support.draft_processes import family, forked, memory_mib, own_mib
from tests.support.hostile_drafts import COMPUTES, ENDLESS, enter, function, generate, make, push
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.served import Served, git
from tests.support.several import Several

RATE = 300
BLOCK_SECONDS = 1.5
BLOCKS = 8
WAVE = 10
COUNT = int(os.environ.get("BBOPS_HOSTILE_DRAFTS", "10"))
"""Of drafts by chance; 200 take four minutes."""
NOISE_SECONDS = 0.002
"""A difference that nobody notices, whatever the ratio."""
HARM = {
    "loop": COMPUTES + "  - return: { value: done }\n",
    "count": f'steps:\n  - sql: {{ statement: "{ENDLESS} SELECT count(*) FROM c" }}\n',
    "memory": 'steps:\n  - sql: { statement: "SELECT hex(randomblob(400000000)) AS x" }\n'
    "    as: x\n  - return: { value: '${ vars.x }' }\n",
    "disk": "steps:\n  - sql:\n      mode: write\n      statement: >-\n"
    f"        {ENDLESS} INSERT INTO notes (title)\n"
    "        SELECT hex(randomblob(250000)) FROM c LIMIT 6000\n",
    "many": "steps:\n  - parallel:\n"
    + "".join(
        f'      b{at}:\n        - sql: {{ statement: "{ENDLESS} SELECT count(*) + {at} FROM c" }}\n'
        for at in range(8)
    ),
}  # fmt: skip

pytestmark = pytest.mark.alone


class Block(NamedTuple):
    """What a block of requests to what is live gave."""

    p50: float
    p99: float
    failed: int


def ask_live(port: int) -> Block:
    """Ask at a steady rate, as far as this machine lets us."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    took, failed, began, number = list[float](), 0, time.perf_counter(), 0
    while (due := began + number / RATE) < began + BLOCK_SECONDS:
        now = time.perf_counter()
        time.sleep(max(0.0, due - now))
        number = max(number + 1, int((now - began) * RATE))  # what was missed is not made up for
        asked = time.perf_counter()
        connection.request("GET", ("/hello", "/notes")[number % 2])
        reply = connection.getresponse()
        reply.read()
        failed += reply.status != 200
        took.append(time.perf_counter() - asked)
    connection.close()
    took.sort()
    return Block(took[len(took) // 2], took[int(0.99 * (len(took) - 1))], failed)


class Hammer:
    """A process that asks the drafts; it and they can be stopped for a while."""

    def __init__(self, served: Served, told: dict[str, object]) -> None:
        self.served = served
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.hammer"], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True,  # it stands back, and we do not
        )  # fmt: skip
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()

    def wait(self) -> None:
        """Wait until it is at work: on a busy machine its process is the last to have a turn."""
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "began\n"

    @contextmanager
    def stopped(self) -> Iterator[None]:
        pids = [self.process.pid, *forked(self.served)]
        signal_all(pids, signal.SIGSTOP)
        try:
            yield
        finally:
            signal_all(pids, signal.SIGCONT)

    def end(self) -> Counter[str]:
        told, _ = self.process.communicate(timeout=60)
        return Counter(json.loads(told))


def signal_all(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


class Beside:
    """What was seen of the live project while drafts worked beside it."""

    def __init__(self, served: Served, state: Path) -> None:
        self.served, self.state = served, state
        self.idle: list[Block] = []
        self.beside: list[Block] = []
        self.seen: Counter[str] = Counter()
        self.largest_own_mib = self.most_mib = self.largest_folder = 0.0

    def watch(
        self, drafts: list[tuple[str, str]], blocks: int, clients: int, *, uploads: bool = False
    ) -> None:
        """Let a hammer work, and ask what is live in between and meanwhile."""
        port = int(self.served.serving["url"].rpartition(":")[2])
        told = {"drafts": drafts, "clients": clients, "uploads": uploads}
        hammer = Hammer(self.served, told)
        try:
            hammer.wait()
            wait_for(lambda: forked(self.served))
            for _ in range(blocks):
                with hammer.stopped():
                    self.idle.append(ask_live(port))
                self.beside.append(ask_live(port))
                self.measure()
        finally:
            self.seen += hammer.end()

    def measure(self) -> None:
        """Take note of memory and disk."""
        every = 0.0
        for pid in family(self.served.process.pid):
            with suppress(OSError):
                every += memory_mib(pid)["Pss"]
        self.most_mib = max(self.most_mib, every)
        for pid in forked(self.served):
            with suppress(OSError):
                self.largest_own_mib = max(self.largest_own_mib, own_mib(pid))
        for folder in self.state.glob("projects/small/drafts/*"):
            self.largest_folder = max(self.largest_folder, read_folder_bytes(folder))

    def hold(self) -> None:
        """Hold what was seen against what is promised."""
        idle = statistics.median(one.p99 for one in self.idle)
        beside = statistics.median(one.p99 for one in self.beside)
        print(
            f"\nlive p99 ms: {1e3 * idle:.1f} idle, {1e3 * beside:.1f} beside;"
            f" p50: {1e3 * statistics.median(one.p50 for one in self.idle):.2f},"
            f" {1e3 * statistics.median(one.p50 for one in self.beside):.2f};"
            f" own MiB of a draft at most {self.largest_own_mib:.0f}, of all {self.most_mib:.0f};"
            f" largest folder MiB {self.largest_folder / 2**20:.0f}; drafts said {dict(self.seen)}"
        )
        log = (self.served.home / "log").read_text()
        print(Counter(re.findall(r"of draft [^ ]* ended: [^\"]*", log)))
        assert sum(one.failed for one in (*self.idle, *self.beside)) == 0
        assert beside <= 2 * idle + NOISE_SECONDS
        assert self.largest_own_mib <= DRAFT.memory_bytes / 2**20 + 20
        assert self.most_mib <= 600 + WAVE * (DRAFT.memory_bytes / 2**20 + 20)
        assert self.largest_folder <= DRAFT_FOLDER_BYTES
        assert sum(self.seen.values()) > 0


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    make(tmp_path / "small")
    text = f"drafts: {{ awake: {WAVE} }}\nprojects: {{ small: {{ repository: small }} }}\n"
    with Several(tmp_path, text) as server:
        server.repository = tmp_path / "small"
        server.until("live", "small")
        server.api.post("/notes", json={"title": "live"})
        yield server


def let_in(served: Served, branch: str) -> tuple[str, str]:
    with enter(served, branch) as client:
        wait_for(lambda: client.get("hello").status_code == 200)
        return str(client.base_url), client.headers["x-draft-token"]


def test_drafts_that_compute_allocate_and_write_without_end(served: Served, tmp_path: Path) -> None:
    beside = Beside(served, tmp_path / ".bbops/state")
    for name, steps in HARM.items():
        push(served, name, function(steps, method="POST"))
    drafts = [let_in(served, name) for name in HARM]
    beside.watch(drafts, blocks=BLOCKS, clients=10)
    beside.hold()
    assert served.api.get("/hello").json()["version"] == 1


def test_drafts_made_of_hostile_steps_by_chance(served: Served, tmp_path: Path) -> None:
    beside = Beside(served, tmp_path / ".bbops/state")
    for first in range(0, COUNT, WAVE):
        seeds = range(first, min(first + WAVE, COUNT))
        for seed in seeds:
            push(served, f"d{seed}", function(generate(seed), method="POST"))
        drafts = [let_in(served, f"d{seed}") for seed in seeds]
        beside.watch(drafts, blocks=max(2, BLOCKS * WAVE // COUNT), clients=WAVE)
        for seed in seeds:
            git(served.repository, "branch", "-qD", f"d{seed}")
        wait_for(lambda: not forked(served))
    beside.hold()


def test_bodies_that_are_too_long_too_slow_or_lie(served: Served, tmp_path: Path) -> None:
    beside = Beside(served, tmp_path / ".bbops/state")
    for at in range(4):
        files = function(
            "input: { title?: string }\nsteps:\n  - return: { value: done }\n", method="POST"
        )
        files["endpoints/bad.yaml"] += "files:\n  file?: { maxSize: 20MB, many: true }\n"
        push(served, f"u{at}", files)
    drafts = [let_in(served, f"u{at}") for at in range(4)]
    beside.watch(drafts, blocks=BLOCKS, clients=4, uploads=True)
    beside.hold()
    assert not [one for one in beside.seen if one.endswith(" 500")]
    for url, token in drafts:
        reply = httpx.get(f"{url}hello", headers={"x-draft-token": token}, timeout=PATIENCE_SECONDS)
        assert reply.status_code == 200, reply.text
