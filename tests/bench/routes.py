"""How long it takes to find a route, and whether that depends on how many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter_ns

from bbops.runtime.http.routes import RouteTable
from tests.bench.figures import Figure
from tests.bench.project import route_paths

FEW, MANY = 10, 5_000


def measure(*, rounds: int, matches: int) -> list[Figure]:
    """Match `matches` paths of a small and of a large table, in turn, `rounds` times."""
    figures = []
    for name, at in (("static", 4), ("parameter", 5)):
        paths = [_path(count, at) for count in (FEW, MANY)]
        tables = [RouteTable(route_paths(count)) for count in (FEW, MANY)]
        times = [
            [_nanoseconds(table.match, path, matches) for table, path in zip(tables, paths)]  # noqa: B905
            for _ in range(rounds)
        ]
        few, many = (median(column) for column in zip(*times, strict=True))
        ratio = median(large / small for small, large in times)
        figures += [
            Figure(f"match a {name} route of {FEW}", few, "ns"),
            Figure(f"match a {name} route of {MANY:,}", many, "ns"),
            Figure(f"match a {name} route: {MANY:,} to {FEW}", ratio, "times", 1.1),
        ]
    return figures


def _path(count: int, at: int) -> str:
    """Return a path of the middle of the table: its routes come in pairs."""
    path = [*route_paths(count)][count // 2 // 2 * 2 + at % 2][1]
    return path.replace(":id", "42")


def _nanoseconds(match: Callable[[str, str], object], path: str, count: int) -> float:
    paths: Sequence[str] = [path] * count
    began = perf_counter_ns()
    for one in paths:
        match("GET", one)
    return (perf_counter_ns() - began) / count
