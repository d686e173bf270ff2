"""300 jobs call another service with `job.key` while the process that works is killed 12 times."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from bbops.database.postgres.opened import drop_schema
from bbops.database.schema.place import PostgresPlace
from bbops.source.git import store
from tests.support.patience import wait_for
from tests.support.postgres import DATABASES, control_of
from tests.support.receiving import Receiver, receiver
from tests.support.shop import FILES, Work

__all__ = ["receiver"]

JOBS, KILLS = 300, 12

CALL = """
payload: { number: integer }
steps:
  - insert: { table: marks, data: { number: "${ event.payload.number }", word: begun } }
  - hashPassword: { password: secret, rounds: 4 }
    as: hash
  - http:
      method: POST
      url: ${ env.PARTNER_URL }
      headers: { idempotency-key: "${ job.key }" }
      body: { number: "${ event.payload.number }" }
  - hashPassword: { password: secret, rounds: 4 }
    as: hash
  - insert: { table: marks, data: { number: "${ event.payload.number }", word: done } }
"""
OWN = {
    "project.yaml": b"bbops: 1\nname: shop\nenv: { PARTNER_URL: {} }\n",
    "functions/fulfil.yaml": CALL.encode(),
    "triggers/paid.yaml": (
        b"event: order.paid\nfunction: fulfil\nretry: { attempts: 50, backoff: 1ms }\n"
    ),
}


@pytest.fixture(params=DATABASES)
def served(request: pytest.FixtureRequest, tmp_path: Path, receiver: Receiver) -> Iterator[Work]:
    schema: PostgresPlace | None = None
    if request.param == "postgres":
        schema = request.getfixturevalue("schema")
    store.init(tmp_path / "shop", FILES | OWN, message="Start")
    (tmp_path / "settings.yaml").write_text("egress: { allow: [127.0.0.1] }\n")
    given = ["--settings", str(tmp_path / "settings.yaml")]
    given += ["--schema", schema.schema] if schema else []
    env = {"PARTNER_URL": receiver.url("/partner")}
    env |= {"DATABASE_URL": schema.url} if schema else {}
    with Work(tmp_path / "shop", tmp_path / "home", *given, env=env) as work:
        work.schema = schema
        work.live()
        yield work
    if schema is not None:
        drop_schema(control_of(schema))


@pytest.mark.long
def test_each_of_300_jobs_writes_once_with_one_key_through_12_kills(
    served: Work, receiver: Receiver
) -> None:
    killed = list[int]()
    for number in range(JOBS):
        assert served.order(number) == 201
        if number % (JOBS // KILLS) == JOBS // KILLS - 1:
            calls = len(receiver.got)
            wait_for(lambda calls=calls: len(receiver.got) > calls or not served.states())
            killed.append(served.worker())
            os.kill(killed[-1], signal.SIGKILL)
    wait_for(lambda: not served.query("SELECT 1 FROM _bbops_outbox") and served.states() == {})
    assert len({*killed}) == KILLS
    for word in ("asked", "begun", "done"):
        rows = served.query(f"SELECT number, count(*) FROM marks WHERE word = '{word}' GROUP BY 1")
        assert dict(rows) == dict.fromkeys(range(JOBS), 1), word
    calls = Counter(
        (json.loads(body)["number"], headers["idempotency-key"])
        for _, headers, body in receiver.got if body  # without one whose body a kill has cut off
    )  # fmt: skip
    assert sorted(number for number, _ in calls) == [*range(JOBS)]  # one key for each job
    assert len({key for _, key in calls}) == JOBS
    print(f"\n{KILLS} kills, {calls.total()} calls of {JOBS} jobs, {calls.total() - JOBS} repeated")
