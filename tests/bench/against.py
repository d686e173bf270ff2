"""Compare this checkout with another commit: `python -m tests.bench --against COMMIT`.

Both sides run as real servers on the same projects. Rounds alternate between them, so that a busy
machine slows both; a ratio is the median of the rounds' ratios of CPU time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final, Self

import httpx

from bbops.source.git import store
from tests.bench import processes
from tests.bench.figures import Figure
from tests.bench.load.generator import saturate
from tests.bench.project import large_project, served_project
from tests.bench.publishing import CHANGED
from tests.bench.shots import ADD, HELLO, Shot
from tests.conftest import ROOT
from tests.support.patience import PATIENCE_SECONDS
from tests.support.served import environment, git

_DATA_PROCESSES: Final = ("bbops_server.data_plane", "bbops_server.data")
"""The module of data processes, and its name in earlier commits."""

_ROWS: Final = 20
ROW: Final = Shot("row", "GET", [f"/api/items/{row}" for row in range(1, _ROWS + 1)], (), "", 200)
SHOTS: Final[Sequence[tuple[str, Shot]]] = (
    ("static JSON", HELLO), ("row by id", ROW), ("insert", ADD),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Effort:
    """The size of a comparison."""

    rounds: int = 9
    seconds: float = 2.0
    files: int = 2_000
    commits: int = 9


QUICK: Final = Effort(rounds=1, seconds=0.3, files=100, commits=1)


class Side:
    """A server of one checkout."""

    def __init__(self, checkout: Path, folder: Path, files: dict[str, str]) -> None:
        """Start the server on a new repository, and wait until it is live."""
        folder.mkdir()
        self._repository, self._version = folder / "project", 1
        store.init(
            self._repository, {name: text.encode() for name, text in files.items()}, message="Start"
        )
        home = folder / "home"
        home.mkdir()
        packages = f"{checkout}:{checkout / 'server'}"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "bbops", "serve", str(self._repository), "--json",
             "--port", "0", "--control-port", "0"],
            cwd=home, env=environment(home) | {"PYTHONPATH": packages}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._url = self._wait("serving")["url"]
        self._wait("live")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_SECONDS)
        if self._process.stdout is not None:
            self._process.stdout.close()

    @property
    def port(self) -> int:
        """The port of the project."""
        port = httpx.URL(self._url).port
        assert port is not None
        return port

    def request(self, shot: Shot, seconds: float) -> float:
        """Return the CPU time of the data process per request, in microseconds."""
        pid = _find_data_process(self._process.pid)
        before = processes.cpu_nanoseconds(pid)
        count = saturate(shot, self.port, seconds)
        assert count.requests
        assert not count.failed
        return (processes.cpu_nanoseconds(pid) - before) / 1_000 / count.requests

    def publish(self) -> float:
        """Commit one changed file; return the CPU time of all processes until it is live, in s."""
        path = self._repository / CHANGED
        old, self._version = f"version: {self._version}", self._version + 1
        path.write_text(path.read_text().replace(old, f"version: {self._version}"))
        before = processes.family_nanoseconds(self._process.pid)
        git(self._repository, "commit", "-qam", "Change")
        self._wait("live")
        return (processes.family_nanoseconds(self._process.pid) - before) / 1e9

    def fill(self) -> None:
        """Insert the rows that `ROW` reads."""
        headers = dict(ADD.headers)
        for _ in range(_ROWS):
            url = f"{self._url}{ADD.paths[0]}"
            added = httpx.post(url, content=ADD.body, headers=headers, timeout=PATIENCE_SECONDS)
            assert added.status_code == ADD.status, added.text

    def _wait(self, kind: str) -> dict[str, str]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event: dict[str, str] = json.loads(line)
            if event["event"] == kind:
                return event
        raise AssertionError(f"the server has ended before '{kind}'")


def _find_data_process(server: int) -> int:
    for module in _DATA_PROCESSES[:-1]:
        with suppress(LookupError):
            return processes.child_running(server, module)
    return processes.child_running(server, _DATA_PROCESSES[-1])


def compare(commit: str, folder: Path, effort: Effort) -> list[Figure]:
    """Return the ratios of a commit's CPU time to that of this checkout; above 1 is faster."""
    with checkout(commit, folder / "checkout") as other, ExitStack() as stack:
        sides = [
            stack.enter_context(Side(root, folder / name, served_project()))
            for name, root in (("ours", ROOT), ("theirs", other))
        ]
        for side in sides:
            side.fill()
        figures = [
            figure for name, shot in SHOTS
            for figure in _ratios(
                name, "µs", effort.rounds,
                [lambda side=side, shot=shot: side.request(shot, effort.seconds) for side in sides],
            )
        ]  # fmt: skip
    with checkout(commit, folder / "checkout") as other, ExitStack() as stack:
        large = [
            stack.enter_context(Side(root, folder / f"large-{name}", large_project(effort.files)))
            for name, root in (("ours", ROOT), ("theirs", other))
        ]
        name = f"publish one of {effort.files:,} files"
        figures += _ratios(name, "s", effort.commits, [side.publish for side in large])
    return figures


def _ratios(
    name: str, unit: str, rounds: int, measures: Sequence[Callable[[], float]]
) -> Iterator[Figure]:
    """Yield both medians, and the median ratio of theirs to ours. The first round is a warm-up."""
    for measure in measures:
        measure()
    pairs = [
        [measures[0](), measures[1]()] if turn % 2 else [measures[1](), measures[0]()][::-1]
        for turn in range(rounds)
    ]
    ours, theirs = (median(column) for column in zip(*pairs, strict=True))
    yield Figure(f"{name}: this checkout", ours, f"{unit} CPU")
    yield Figure(f"{name}: the other commit", theirs, f"{unit} CPU")
    yield Figure(f"{name}: other to this", median(other / own for own, other in pairs), "times")


@contextmanager
def checkout(commit: str, folder: Path) -> Iterator[Path]:
    """Check a commit out into a folder of its own, which is removed afterwards."""
    git(ROOT, "worktree", "add", "--detach", str(folder), commit)
    try:
        yield folder
    finally:
        git(ROOT, "worktree", "remove", "--force", str(folder))
