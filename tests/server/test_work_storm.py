"""A whole server is killed at random moments: its jobs lose nothing, double nothing, keep order.

`BBOPS_SERVER_KILLS=20` kills as often as the figures in docs/decisions/0072 say.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from bbops.database.postgres.opened import drop_schema
from bbops.database.schema.place import PostgresPlace
from bbops.source.git import store
from tests.support.patience import wait_for
from tests.support.ports import free_port
from tests.support.postgres import DATABASES, control_of
from tests.support.processes import children
from tests.support.receiving import Receiver, receiver
from tests.support.shop import Work
from tests.support.small_project import endpoint

__all__ = ["receiver"]

KILLS = int(os.environ.get("BBOPS_SERVER_KILLS", "3"))
MOST_SECONDS = 2.5
"""Between two kills; a server needs about two thirds of that to start."""
LANES = 6

MARKS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  number: { type: integer }
  lane: { type: integer }
  word: { type: string, maxLength: 10 }
"""
ORDER = """
input: { number: integer, lane: integer }
steps:
  - transaction:
      - insert:
          table: marks
          data: { number: "${ input.number }", lane: "${ input.lane }", word: asked }
      - emit:
          event: order.paid
          payload: { number: "${ input.number }", lane: "${ input.lane }" }
  - return: { status: 201 }
"""
FULFIL = """
payload: { number: integer, lane: integer }
steps:
  - insert:
      table: marks
      data: { number: "${ event.payload.number }", lane: "${ event.payload.lane }", word: begun }
  - http:
      method: POST
      url: ${ env.PARTNER_URL }
      headers: { idempotency-key: "${ job.key }" }
      body: { number: "${ event.payload.number }" }
  - if: event.payload.number % 7 == 0
    then:
      - wait: { for: 200ms }
  - insert:
      table: marks
      data: { number: "${ event.payload.number }", lane: "${ event.payload.lane }", word: done }
"""
TRIGGER = """
event: order.paid
function: fulfil
lane: { key: event.payload.lane }
retry: { attempts: 50, backoff: 1ms }
"""
FILES = {
    "project.yaml": "bbops: 1\nname: shop\nenv: { PARTNER_URL: {} }\n",
    "tables/marks.yaml": MARKS, "functions/order.yaml": ORDER, "functions/fulfil.yaml": FULFIL,
    "endpoints/order.yaml": endpoint("POST", "/orders", "order"), "triggers/paid.yaml": TRIGGER,
}  # fmt: skip


@pytest.fixture(params=DATABASES)
def schema_of(request: pytest.FixtureRequest) -> Iterator[PostgresPlace | None]:
    if request.param == "sqlite":
        yield None
        return
    schema: PostgresPlace = request.getfixturevalue("schema")
    yield schema
    drop_schema(control_of(schema))


class Storm:
    """A server on fixed ports that is started again when it is killed, and who orders from it."""

    def __init__(self, folder: Path, partner: str, schema: PostgresPlace | None) -> None:
        (folder / "settings.yaml").write_text("egress: { allow: [127.0.0.1] }\n")
        files = {path: text.encode() for path, text in FILES.items()}
        store.init(folder / "shop", files, message="Start")
        self.folder, self.schema = folder, schema
        self.env = {"PARTNER_URL": partner} | ({"DATABASE_URL": schema.url} if schema else {})
        self.ports = ["--port", str(free_port()), "--control-port", str(free_port())]
        self.over, self.acknowledged = threading.Event(), set[int]()
        self.server = self.start()

    def start(self) -> Work:
        given = [*self.ports, "--settings", str(self.folder / "settings.yaml")]
        given += ["--schema", self.schema.schema] if self.schema else []
        started = wait_for(lambda: self._try_to_start(given))
        assert started is not None
        started.schema = self.schema
        return started

    def _try_to_start(self, given: list[str]) -> Work | None:
        """Return a server, or None while an orphan of the last one has the port."""
        with suppress(AssertionError):
            return Work(self.folder / "shop", self.folder / "home", *given, env=self.env)
        return None

    def order(self, lane: int) -> None:
        """Order again and again, one order after the other; only a 201 is acknowledged."""
        url, number = f"http://127.0.0.1:{self.ports[1]}/orders", lane
        with httpx.Client(timeout=10) as client:
            while not self.over.is_set():
                with suppress(httpx.HTTPError):
                    if client.post(url, json={"number": number, "lane": lane}).status_code == 201:
                        self.acknowledged.add(number)
                number += LANES
                self.over.wait(0.05)

    def kill(self) -> None:
        """Kill the server with all of its processes, or its parent alone."""
        parent = self.server.process.pid
        others = children(parent)
        for victim in (parent, *(others if random.random() < 0.5 else ())):
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        self.server.stop()
        self.server = self.start()


@pytest.mark.long
def test_kills_of_a_server_lose_nothing_and_double_nothing(
    schema_of: PostgresPlace | None, tmp_path: Path, receiver: Receiver
) -> None:
    storm = Storm(tmp_path, receiver.url("/partner"), schema_of)
    orders = [threading.Thread(target=storm.order, args=(lane,)) for lane in range(LANES)]
    for one in orders:
        one.start()
    try:
        for _ in range(KILLS):
            time.sleep(random.uniform(0, MOST_SECONDS))
            storm.kill()
        wait_for(lambda: storm.server.count("done") > 0)
    finally:
        storm.over.set()
        for one in orders:
            one.join()
    served = storm.server
    wait_for(lambda: not served.query("SELECT 1 FROM _bbops_outbox") and served.states() == {})
    asked = [number for (number,) in served.query("SELECT number FROM marks WHERE word = 'asked'")]
    assert storm.acknowledged <= {*asked}
    for word in ("asked", "begun", "done"):
        rows = served.query(f"SELECT lane, number FROM marks WHERE word = '{word}' ORDER BY id")
        assert Counter(number for _, number in rows) == Counter(asked)
        for lane in range(LANES):
            ours = [number for of, number in rows if of == lane]
            assert ours == sorted(ours), (word, lane)
    calls = [  # without those whose body a kill has cut off
        (body, headers["idempotency-key"]) for _, headers, body in receiver.got if body
    ]
    print(f"\n{KILLS} servers killed, {len(calls) - len(asked)} of {len(asked)} calls repeated")
    assert len({body for body, _ in calls}) == len({*calls}) == len(asked)
    assert len(calls) - len(asked) <= max(2, 0.02 * len(asked))
    served.stop()
