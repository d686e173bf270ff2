"""`python -m tests.bench.work [--only PART] [--sleepers N]`: every figure of work, with its bound.

CPU is that of the process, and on PostgreSQL also that of the server's processes, which stand in a
row of their own; both as a quiet core would need it, see `tests.bench.yardstick`.
Exit status 1: a bound is not met.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from bbops.database.schema.place import Place
from tests.bench.figures import Figure
from tests.bench.machine import describe_machine
from tests.bench.work import beside, endpoints, engine, fitting, idle, inserts, sleepers
from tests.support.postgres import new_schema, passing_server

Measure = Callable[[Place, str], Iterator[Figure]]
PARTS: dict[str, Measure] = {
    "engine": engine.measure, "inserts": inserts.measure, "idle": idle.measure,
    "sleepers": sleepers.measure, "endpoints": endpoints.measure, "fitting": fitting.measure,
    "beside": beside.measure,
}  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Measure on both databases, print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.work", description=__doc__)
    parser.add_argument("--only", choices=[*PARTS], action="append", help="measure this alone")
    parser.add_argument("--on", choices=["sqlite", "postgres"], action="append")
    given = parser.parse_args(arguments)
    table = Table("what", "measured", "bound", "met", title_justify="left")
    missed = 0
    for figure in measured(given.only or [*PARTS], given.on or ["sqlite", "postgres"]):
        bound = "" if figure.most is None else f"≤ {figure.most:g} {figure.unit}"
        met = {True: "yes", False: "no", None: ""}[figure.is_met]
        table.add_row(figure.name, f"{figure.value:.3g} {figure.unit}", bound, met)
        print(f"{figure.name}: {figure.value:.3g} {figure.unit} {bound} {met}", file=sys.stderr)
        missed += figure.is_met is False
    machine = describe_machine()
    Console(width=110).print(table)
    print(f"{machine['cores']} cores, Python {machine['python']}, SQLite {machine['sqlite']}")
    return 1 if missed else 0


def measured(parts: Sequence[str], databases: Sequence[str]) -> Iterator[Figure]:
    """Yield every figure of some parts, each part on a database of its own."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="bbops-")))
        url = stack.enter_context(passing_server(folder / "pg")) if "postgres" in databases else ""
        for part in parts:
            if "sqlite" in databases:
                yield from PARTS[part](folder / f"{part}.sqlite", "SQLite")
            if "postgres" in databases:
                with new_schema(url) as place:
                    yield from PARTS[part](place, "PostgreSQL")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
