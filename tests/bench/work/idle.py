"""What a work process costs that has nothing to do, beside a real server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bbops.database.postgres.opened import drop_schema
from bbops.database.schema.place import Place
from bbops.source.git import store
from tests.bench import processes
from tests.bench.figures import Figure
from tests.bench.yardstick import Yardstick
from tests.support.postgres import control_of
from tests.support.shop import BEAT, FILES, Work

SECONDS: Final = 30.0
_TASK: Final = {
    "tasks/yearly.yaml": b"schedule: 0 0 1 1 *\nfunction: beat\n",
    "functions/beat.yaml": BEAT.encode(),
}
_BOUND: Final = {"SQLite": 0.1, "PostgreSQL": 0.3}


def measure(place: Place, database: str) -> Iterator[Figure]:
    """Yield percents of a core."""
    given = [] if isinstance(place, Path) else ["--schema", place.schema]
    env = {} if isinstance(place, Path) else {"DATABASE_URL": place.url}
    with TemporaryDirectory(prefix="bbops-") as folder:
        shop = Path(folder) / "shop"
        store.init(shop, FILES | _TASK, message="Start")
        with Work(shop, Path(folder) / "home", *given, env=env) as served:
            served.schema = None if isinstance(place, Path) else place
            served.live()
            served.order(1)
            while served.count("done") < 1:
                time.sleep(0.1)
            pid = served.worker()
            with Yardstick().beside() as slowness:
                before = processes.cpu_nanoseconds(pid)
                time.sleep(SECONDS)
                used = (processes.cpu_nanoseconds(pid) - before) / 1e9
            used /= slowness.times
    if not isinstance(place, Path):
        drop_schema(control_of(place))
    yield Figure(f"a work process that idles, {database}", 100 * used / SECONDS, "% of a core",
                 _BOUND[database])  # fmt: skip
