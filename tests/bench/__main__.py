"""`python -m tests.bench [--quick] [--against COMMIT] [--json FILE]`: measure, print one table."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench import (
    against,
    agents,
    checking,
    flows,
    grants,
    linking,
    publishing,
    pushing,
    routes,
)
from tests.bench.contests import contests
from tests.bench.duel import Duels, Outcome, measure
from tests.bench.figures import Figure
from tests.bench.machine import describe_machine
from tests.bench.report import as_json, print_table


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to look. The quick one shows that everything works, its numbers say little."""

    rounds: int = 9
    seconds: float = 2.0
    latency_seconds: float = 20.0
    files: int = 1_000
    commits: int = 15
    route_rounds: int = 15
    matches: int = 20_000
    calls: int = 500
    requests: int = 1_000_000
    """At least, before the memory of a data process is looked at."""


QUICK = Effort(
    rounds=1,
    seconds=0.3,
    latency_seconds=1.5,
    files=100,
    commits=2,
    route_rounds=3,
    matches=1_000,
    calls=20,
    requests=0,
)


def run(arguments: Sequence[str]) -> int:
    """Measure, print the table, write the file."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="show only that everything works")
    parser.add_argument(
        "--against", metavar="COMMIT", help="only compare requests and publications with a commit"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers as JSON")
    given = parser.parse_args(arguments)
    if not sys.platform.startswith("linux"):
        parser.error("the benchmark reads /proc, which only Linux has")
    # what is installed has its byte code; the servers shall have it, whatever this shell says
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    effort, machine = QUICK if given.quick else Effort(), describe_machine()
    outcomes: Sequence[Outcome] = ()
    with TemporaryDirectory(prefix="bbops-bench-") as folder:
        if given.against is not None:
            size = against.QUICK if given.quick else against.Effort()
            figures = against.compare(given.against, Path(folder), size)
        else:
            duels, figures = measure_all(Path(folder), effort)
            outcomes = duels.outcomes
    print_table(machine, outcomes, figures)
    if given.json is not None:
        document = as_json(machine, outcomes, figures)
        given.json.write_text(json.dumps(document, indent=2) + "\n")
    return 0


def measure_all(folder: Path, effort: Effort) -> tuple[Duels, list[Figure]]:
    """Measure one thing after the other: nothing disturbs what it is compared with."""
    (folder / "duels").mkdir()
    duels = asyncio.run(
        measure(
            contests(), folder / "duels", rounds=effort.rounds, seconds=effort.seconds,
            at_least=effort.requests,
        )
    )  # fmt: skip
    return duels, [
        *routes.measure(rounds=effort.route_rounds, matches=effort.matches),
        *flows.measure(rounds=effort.route_rounds, runs=effort.matches),
        *checking.measure(functions=effort.files, rounds=effort.route_rounds),
        *linking.measure(folder / "linking", files=effort.files, rounds=effort.route_rounds),
        *agents.measure(folder / "agents", calls=effort.calls, rounds=effort.route_rounds),
        *grants.measure(folder / "grants", checks=10 * effort.matches),
        *memory(duels),
        *publishing.measure_boot(folder / "boot"),
        *publishing.measure_publishing(
            folder / "large", files=effort.files, commits=effort.commits
        ),
        *publishing.measure_latency(folder / "latency", seconds=effort.latency_seconds),
        *pushing.measure_pushes(folder / "pushes", files=effort.files, pushes=effort.commits),
        *pushing.measure_beside(folder / "beside", seconds=effort.latency_seconds),
    ]


def memory(duels: Duels) -> list[Figure]:
    """Return what a data process with 100 endpoints needs, before and after its requests."""
    return [
        Figure("memory of a data process, 100 endpoints", duels.megabytes_before, "MB", 90),
        Figure(f"memory after {duels.requests:,} requests", duels.megabytes_after, "MB", 90),
    ]


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
