"""How much slower the machine is at a moment than when nobody else uses it.

A core that is shared does less in a second of CPU: its caches are others', its clock is lower. So
what a part takes is compared with what the same fixed work takes right before and behind it, and
told as CPU of a quiet core.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Final

QUIET_SECONDS: Final = 1.6e-3
"""CPU of one turn on a quiet core: the fastest twentieth of 6,000 turns, on the machine of 0071."""

TURNS: Final = 7
_ROWS: Final = 200


@dataclass(slots=True)
class Slowness:
    """How often `QUIET_SECONDS` a turn takes; known behind the `with`."""

    times: float = 1.0


class Yardstick:
    """Work as servers do it: maps, JSON, and rows of a database in memory."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:", isolation_level=None)
        self._database.execute("CREATE TABLE marks (id INTEGER PRIMARY KEY, who TEXT, total INT)")

    @contextmanager
    def beside(self) -> Iterator[Slowness]:
        """Measure before and behind what is done in the `with`; takes 30 ms or so."""
        found = Slowness()
        turns = [self._turn() for _ in range(TURNS)]
        yield found
        turns += [self._turn() for _ in range(TURNS)]
        found.times = median(turns) / QUIET_SECONDS

    def _turn(self) -> float:
        """Return the CPU of one turn, in seconds."""
        begin = time.process_time()
        for at in range(_ROWS):
            row = {"who": f"name {at}", "total": at * 3, "tags": [at, at + 1]}
            read = json.loads(json.dumps(row))
            self._database.execute(
                "INSERT INTO marks (who, total) VALUES (?, ?)", (read["who"], read["total"])
            )
        self._database.execute("SELECT sum(total) FROM marks").fetchone()
        self._database.execute("DELETE FROM marks")
        return time.process_time() - begin
