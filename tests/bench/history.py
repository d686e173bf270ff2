"""CPU time of the history's writer, and of queries over minutes: `python -m tests.bench.history`.

A batch is 2,000 requests to 31 routes; the queries read a million requests of 14 days.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time
from typing import Any, Final

from bbops_server.data_plane.live import history as histories
from bbops_server.data_plane.live import minutes
from bbops_server.data_plane.live.history import History, find
from bbops_server.data_plane.live.traffic import (
    RANKED_SECONDS,
    Period,
    now,
    rank_endpoints,
    read_traffic,
)

ROUTES: Final = 31
BATCH: Final = 2_000
REQUESTS: Final = 1_000_000
DAYS: Final = 14
ROUNDS: Final = 15


class Unwritten(History):
    """A history without a thread: the benchmark flushes it."""

    def __init__(self, path: Path) -> None:
        self.path, self._keep_bytes = path, histories.KEEP_BYTES
        self.ring: deque[bytes] = deque()
        self._stopped, self._is_behind = threading.Event(), True


def create_requests(count: int, at: Callable[[int], float]) -> Iterator[tuple[Any, ...]]:
    """Yield requests, of which 1 % fail; `at` is on the monotonic clock."""
    chance = random.Random(7)
    for number in range(count):
        route = f"orders/r{int(ROUTES * chance.random() ** 2)}"
        status = 500 if chance.random() < 0.01 else 404 if chance.random() < 0.05 else 200
        milliseconds = chance.lognormvariate(1.2, 1.0)
        yield (
            at(number), "GET", f"/{route}/{number}", f"/{route}/:id", status, milliseconds, None,
            "0123456789ab", 0, 200, b"abc%x" % number, route,
        )  # fmt: skip


def measure_writer(folder: Path, *, counts: bool) -> float:
    """Return the milliseconds of CPU for one batch, as the fastest of some rounds."""
    history, fastest = Unwritten(folder / f"writer-{counts}.sqlite"), float("inf")
    insert = history._insert
    if not counts:
        history._insert = lambda connection, batch: connection.execute(  # type: ignore[method-assign,assignment]
            histories._INSERT, batch
        )
    assert insert is not None
    for _ in range(ROUNDS):
        for request in create_requests(BATCH, lambda _: perf_counter()):
            history.remember(request)
        began = thread_time()
        history._flush()
        fastest = min(fastest, thread_time() - began)
    return 1e3 * fastest


def fill(path: Path) -> float:
    """Write a million requests of 14 days, uncounted; return the seconds of CPU to catch up."""
    first, span = perf_counter() - DAYS * 86_400, DAYS * 86_400 / REQUESTS
    packed: list[bytes] = []
    with closing(histories.connect(path)) as connection:
        for request in create_requests(REQUESTS, lambda number: first + number * span):
            packed.append(histories._encode(request))
            if len(packed) == BATCH:
                whole = histories._ARRAY + len(packed).to_bytes(4) + b"".join(packed)
                written, base = now(), now() - perf_counter()
                connection.execute(histories._INSERT, (BATCH, written, base, whole))
                packed.clear()
        began = thread_time()
        while minutes.catch_up(connection):
            pass
        return thread_time() - began


def main() -> None:
    """Print the figures."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        without, counted = (measure_writer(folder, counts=counts) for counts in (False, True))
        print(f"a batch of {BATCH:,}: {without:.2f} ms, with minutes {counted:.2f} ms of CPU")
        path = folder / "million.sqlite"
        print(f"catching up with {REQUESTS:,}: {fill(path):.2f} s of CPU")
        with closing(histories.connect(path)) as connection:
            for table in ("minutes", "hours"):
                (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
                print(f"{table}: {rows:,} rows")
        print_queries(path)


def print_queries(path: Path) -> None:
    """Print the milliseconds of queries, each as the fastest of some rounds."""
    until = now()
    for text, seconds in (("hour", 3_600), ("day", 86_400), ("14 days", 14 * 86_400)):
        period = Period.read(until - seconds, until)
        ranked = Period.read(until - seconds, until, long_seconds=RANKED_SECONDS)
        queries: dict[str, Callable[[], object]] = {
            "all routes": lambda period=period: read_traffic(path, period),  # type: ignore[misc]
            "one route": lambda period=period: read_traffic(path, period, endpoint="orders/r3"),  # type: ignore[misc]
            "ranking": lambda ranked=ranked: rank_endpoints(path, ranked),  # type: ignore[misc]
        }
        for query, run in queries.items():
            print(f"{text}, {query}: {_fastest(run):.1f} ms ({period.table})")
    took = _fastest(lambda: find(path, text="no such text"), 1)
    print(f"a filter that matches nothing: {took:.0f} ms")


def _fastest(run: Callable[[], object], rounds: int = ROUNDS) -> float:
    fastest = float("inf")
    for _ in range(rounds):
        began = perf_counter()
        run()
        fastest = min(fastest, perf_counter() - began)
    return 1e3 * fastest


if __name__ == "__main__":
    main()
