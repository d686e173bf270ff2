"""`python -m tests.bench.queues`: the same jobs with other queues, on the same PostgreSQL.

Their packages are installed by exact version into an environment that is gone afterwards. CPU is
that of the worker, and of the server's processes; then a worker is killed in a job, and another
one has RESCUE_SECONDS to do it, with what each queue does by itself.
"""

from __future__ import annotations

import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import psycopg
from rich.console import Console
from rich.table import Table

from bbops.database.schema.place import PostgresPlace, write_place
from tests.bench.work.cpu import Meter
from tests.conftest import ROOT
from tests.support.postgres import new_schema, passing_server

PEERS: Final = {
    "bbops": (), "pgqueuer": ("pgqueuer==1.6.0", "asyncpg==0.32.0"),
    "procrastinate": ("procrastinate==3.10.0", "psycopg[binary]==3.3.9", "psycopg-pool==3.3.3"),
}  # fmt: skip
ROUNDS: Final = 3
RESCUE_SECONDS: Final = 90.0
_TABLES: Final = (
    "CREATE TABLE _steps (job bigint, path text, result text, PRIMARY KEY (job, path));"
    "CREATE TABLE _marks (mode text)"
)


class Peer:
    """One queue, in schemas of one server."""

    def __init__(self, name: str, python: str, server: str) -> None:
        self.name, self._python, self._server = name, python, server

    def jobs(self) -> tuple[float, float, float]:
        """Return the CPU of the worker and of the server, and the time, of all jobs."""
        with self._schema() as place:
            running = self._start(place, "jobs")
            meter = Meter(place)
            _line(running, "begun")
            backends, wall = meter.backends(), time.perf_counter()
            own = float(_line(running, "done").split()[1])
            wall, backends = time.perf_counter() - wall, meter.backends() - backends
            _kill(running)
        return own, backends, wall

    def rescue(self) -> float | None:
        """Kill a worker in a job; return when another one did it, None if it did not."""
        with self._schema() as place:
            dying = self._start(place, "die")
            _wait(place, "die", RESCUE_SECONDS)
            _kill(dying)
            began = time.perf_counter()
            rescuing = self._start(place, "rescue")
            found = _wait(place, "rescue", RESCUE_SECONDS)
            took = time.perf_counter() - began
            _kill(rescuing)
        return took if found else None

    @contextmanager
    def _schema(self) -> Iterator[PostgresPlace]:
        with new_schema(self._server) as place:
            with psycopg.connect(place.address) as live:
                live.execute(_TABLES.encode())
            yield place

    def _start(self, place: PostgresPlace, mode: str) -> subprocess.Popen[str]:
        file = Path(__file__).parent / f"peers/with_{self.name}.py"
        given = write_place(place) if self.name == "bbops" else place.address
        return subprocess.Popen(
            [self._python, str(file), given, mode], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"PYTHONPATH": str(ROOT)},
        )  # fmt: skip


def _line(running: subprocess.Popen[str], word: str) -> str:
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith(word):
            return line
    raise AssertionError(f"it ended with {running.wait()} before it was {word}")


def _wait(place: PostgresPlace, mode: str, seconds: float) -> bool:
    until = time.monotonic() + seconds
    with psycopg.connect(place.address, autocommit=True) as live:
        while time.monotonic() < until:
            if live.execute("SELECT 1 FROM _marks WHERE mode = %s", [mode]).fetchone():
                return True
            time.sleep(0.05)
    return False


def _kill(running: subprocess.Popen[str]) -> None:
    running.kill()
    running.communicate()


def main() -> None:
    table = Table("queue", "1,000 jobs of two steps: CPU", "the server's", "time", "worker killed")
    with TemporaryDirectory(prefix="bbops-") as name:
        folder = Path(name)
        venv.create(folder / "peers", with_pip=True)
        python = str(folder / "peers/bin/python")
        wanted = [one for every in PEERS.values() for one in every]
        subprocess.run([python, "-m", "pip", "install", "-qq", *wanted], check=True)
        with passing_server(folder / "pg") as server:
            for peer in PEERS:
                ours = Peer(peer, sys.executable if peer == "bbops" else python, server)
                rounds = [ours.jobs() for _ in range(ROUNDS)]
                own, backends, wall = (median(one) for one in zip(*rounds, strict=True))
                rescued = ours.rescue()
                shown = f"done after {rescued:.1f} s" if rescued else f"not in {RESCUE_SECONDS:g} s"
                table.add_row(peer, f"{own:.2f} s", f"{backends:.2f} s", f"{wall:.2f} s", shown)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
