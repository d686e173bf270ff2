"""A whole server on a repository: boot, publications, and answers while it publishes."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from statistics import median

import httpx

from bbops.source.git import store
from tests.bench.again import again
from tests.bench.figures import Figure
from tests.bench.load.generator import Latency, keep_rate
from tests.bench.project import large_project, served_project
from tests.bench.shots import HELLO
from tests.support.patience import wait_for
from tests.support.served import Served, environment

CHANGED = "functions/hello.yaml"
RATE = 1_000
PAUSE_SECONDS = 0.5


def measure_boot(folder: Path) -> list[Figure]:
    """Start a server twice: on an empty state folder, and on the one it left."""
    repository = _repository(folder, served_project())
    fresh, again = (_boot(repository, folder / "home") for _ in range(2))
    return [
        Figure("boot to the first answer, new", fresh, "s"),
        Figure("boot to the first answer, again", again, "s", 1.0),
    ]


def _boot(repository: Path, home: Path) -> float:
    began = time.perf_counter()
    with Served(repository, home) as served:
        wait_for(lambda: served.api.get(HELLO.paths[0]).status_code == HELLO.status)
        return time.perf_counter() - began


def measure_publishing(folder: Path, *, files: int, commits: int) -> list[Figure]:
    """Publish a project of many files, then change one of them again and again."""
    repository = _repository(folder, large_project(files))
    with Served(repository, folder / "home") as served:
        first = served.live()["milliseconds"] / 1000
        changed = [_publish(served, number) for number in range(2, commits + 2)]
    cold, warm = (_validate(repository, folder / "home") for _ in range(2))
    file = repository / CHANGED
    file.write_text(file.read_text() + "# another line\n")
    edited = _validate(repository, folder / "home")
    return [
        Figure(f"first publication of {files:,} files", first, "s", 3.0),
        Figure("from a commit of one file to its first answer", median(changed), "s", 0.3),
        Figure(f"bbops validate, {files:,} files", cold, "s", 3.0),
        Figure(f"bbops validate again, {files:,} files", warm, "s", 0.4),
        Figure(f"bbops validate with one of {files:,} files changed", edited, "s"),
    ]


def _publish(served: Served, version: int) -> float:
    """Commit another version; return how long it takes until it is live."""
    served.edit(CHANGED, f"version: {version - 1}", f"version: {version}")
    served.commit()
    began = time.perf_counter()
    served.live()
    return time.perf_counter() - began


def _validate(repository: Path, home: Path) -> float:
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-P", "-m", "bbops", "validate", str(repository)],
        cwd=home, env=environment(home), check=True, capture_output=True,
    )  # fmt: skip
    return time.perf_counter() - began


def measure_latency(folder: Path, *, seconds: float) -> list[Figure]:
    """Ask at a fixed rate while nothing happens, and while a commit goes live twice a second."""
    repository = _repository(folder, served_project())
    with Served(repository, folder / "home") as served:
        served.live()
        port = httpx.URL(served.api.base_url).port
        assert port is not None
        keep_rate(HELLO, port, min(seconds, 1.0), RATE)
        idle = keep_rate(HELLO, port, seconds, RATE)
        versions = count(2)
        with again(
            lambda: _publish(served, next(versions)), pause_seconds=PAUSE_SECONDS
        ) as published:
            busy = keep_rate(HELLO, port, seconds, RATE)
    return [
        *_latencies("idle", idle),
        *_latencies("while publishing", busy),
        Figure("commits that went live meanwhile", len(published), ""),
        Figure("p99 while publishing to p99 idle", busy.p99 / idle.p99, "times", 4.0),
    ]


def _latencies(when: str, found: Latency) -> list[Figure]:
    rate = f"{RATE:,}/s, {when}"
    return [
        Figure(f"{rate}: failed", found.failed, "", 0),
        Figure(f"{rate}: p50", found.p50, "ms"),
        Figure(f"{rate}: p99", found.p99, "ms"),
        Figure(f"{rate}: longest", found.max, "ms"),
    ]


def _repository(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    store.init(
        folder / "project", {name: text.encode() for name, text in files.items()}, message="Start"
    )
    return folder / "project"
