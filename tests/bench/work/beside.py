"""How long requests take beside jobs that never pause: a real server, rounds that alternate."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import httpx

from bbops.database.postgres.opened import drop_schema
from bbops.database.schema.place import Place
from bbops.database.sqlite.connection import connect
from bbops.database.sqlite.gate import Gate
from bbops.source.git import store
from tests.bench.again import again
from tests.bench.figures import Figure
from tests.bench.load.generator import keep_rate
from tests.bench.shots import Shot
from tests.support.postgres import control_of
from tests.support.shop import MARKS, Work
from tests.support.small_project import endpoint

RATE: Final = 200
SECONDS: Final = 3.0
ROUNDS: Final = 7
FEED: Final = 40
FEED_SECONDS: Final = 0.05
"""So many events, so often."""

BULK: Final = 3_000

TURNS: Final = 80
"""Of a loop in a loop, which take about 3 ms."""

_LOOK: Final = """
steps:
  - find: { table: marks, where: id == 1, one: true }
    as: mark
  - return: { value: "${ vars.mark }" }
"""
_MARK: Final = """
steps:
  - insert: { table: marks, data: { number: 1, word: asked } }
  - return: { status: 201 }
"""
_GRIND: Final = """
payload: { numbers: "integer[]" }
steps:
  - loop:
      over: event.payload.numbers
      each: number
      steps:
        - loop:
            over: event.payload.numbers
            each: other
            collect: ${ vars.number * vars.other + 1 }
          as: made
"""
_FILES: Final = {
    "project.yaml": "bbops: 1\nname: shop\n", "tables/marks.yaml": MARKS,
    "functions/look.yaml": _LOOK, "functions/mark.yaml": _MARK, "functions/grind.yaml": _GRIND,
    "endpoints/look.yaml": endpoint("GET", "/look", "look"),
    "endpoints/mark.yaml": endpoint("POST", "/mark", "mark"),
    "triggers/grind.yaml": "event: grind.asked\nfunction: grind\n",
}  # fmt: skip
_SHOTS: Final = (
    Shot("read", "GET", ("/look",), (), "", 200), Shot("insert", "POST", ("/mark",), (), "", 201),
)  # fmt: skip
_FEED: Final = (
    "WITH RECURSIVE every(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM every WHERE n < {count})"
    " INSERT INTO _bbops_outbox (name, key, payload, at, cause, depth)"
    " SELECT 'grind.asked', '', '{{{{\"numbers\": [{numbers}]}}}}', 0, '', 0 FROM every"
).format(count="{count}", numbers=", ".join(map(str, range(TURNS))))


def measure(place: Place, database: str) -> Iterator[Figure]:
    """Yield how often the time of the slowest of a hundred requests is that without jobs."""
    given = [] if isinstance(place, Path) else ["--schema", place.schema]
    env = {} if isinstance(place, Path) else {"DATABASE_URL": place.url}
    with TemporaryDirectory(prefix="bbops-") as folder:
        shop = Path(folder) / "shop"
        store.init(shop, {path: text.encode() for path, text in _FILES.items()}, message="Start")
        with Work(shop, Path(folder) / "home", *given, env=env) as served:
            served.schema = None if isinstance(place, Path) else place
            served.live()
            for shot in _SHOTS:
                yield from _measure(served, shot, database)
    if not isinstance(place, Path):
        drop_schema(control_of(place))


def _measure(served: Work, shot: Shot, database: str) -> Iterator[Figure]:
    port = httpx.URL(served.serving["url"]).port
    assert port is not None
    keep_rate(shot, port, 1.0, RATE)
    alone, beside, bulk, jobs = list[float](), list[float](), list[float](), 0
    for _ in range(ROUNDS):
        alone.append(keep_rate(shot, port, SECONDS, RATE).p99)
        before = _ended(served)
        with again(lambda: _feed(served), pause_seconds=FEED_SECONDS):
            beside.append(keep_rate(shot, port, SECONDS, RATE).p99)
        jobs += _ended(served) - before
        _forget(served)
        _write(served, _FEED.format(count=BULK))
        bulk.append(keep_rate(shot, port, SECONDS, RATE).p99)
        _forget(served)
    name = f"p99 of {RATE}/s, {shot.name}, {database}"
    ratio = median(one / two for one, two in zip(beside, alone, strict=True))
    yield Figure(name, median(alone), "ms")
    yield Figure("  beside jobs", median(beside), "ms")
    yield Figure("  times as long", ratio, "times", 3.0)
    several = median(one / two for one, two in zip(bulk, alone, strict=True))
    yield Figure(f"  while {BULK:,} events come at once", several, "times")
    yield Figure("  jobs meanwhile", jobs / (SECONDS * ROUNDS), "/s")


def _feed(served: Work) -> float:
    """Emit more than can be done, unless there is enough."""
    waiting = "SELECT count(*) FROM _bbops_jobs WHERE state = 'ready'"
    if int(served.query(waiting)[0][0]) < FEED:
        _write(served, _FEED.format(count=FEED))
    return 0.0


def _write(served: Work, sql: str) -> None:
    """Write as a process of the server does.

    Another program would wait for the disk while it holds the file, and measure that.
    """
    if served.schema is not None:
        served.edit_row(sql)
        return
    file = served.repository / ".bbops/state/data.sqlite"
    with closing(Gate(file)) as gate, gate, closing(connect(file)) as database:
        database.execute(sql)


def _forget(served: Work) -> None:
    """Leave nothing to do. Rows that somebody has locked go when they are free.

    The server locks rows in an order of its own, so a DELETE that waits for one of them while it
    holds others may stand in its way.
    """
    for table in ("_bbops_outbox", "_bbops_jobs"):
        free = f"SELECT id FROM {table}"
        if served.schema is not None:
            free += " FOR UPDATE SKIP LOCKED"
        while served.query(f"SELECT 1 FROM {table} LIMIT 1"):
            _write(served, f"DELETE FROM {table} WHERE id IN ({free})")
    time.sleep(0.3)  # what runs ends


def _ended(served: Work) -> int:
    return int(served.query("SELECT count(*) FROM _bbops_job_log")[0][0])
