"""A shop whose orders run jobs, on a real server: what tests of work outside of requests share."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bbops.database.postgres.opened import drop_schema
from bbops.database.schema.place import PostgresPlace
from bbops.source.git import store
from tests.support.patience import wait_for
from tests.support.postgres import control_of
from tests.support.processes import children
from tests.support.served import Served
from tests.support.small_project import endpoint

Shop = Callable[..., "Work"]

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
MARKS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  number: { type: integer }
  word: { type: string, maxLength: 40 }
"""
ORDER = """
input: { number: integer, fails?: boolean }
steps:
  - try:
      - transaction:
          - insert: { table: marks, data: { number: "${ input.number }", word: asked } }
          - emit: { event: order.paid, payload: { number: "${ input.number }" } }
          - if: input.fails == true
            then:
              - throw: { status: 418 }
    catch:
      - return: { status: 418 }
  - return: { status: 201 }
"""
FULFIL = """
payload: { number: integer }
steps:
  - hashPassword: { password: secret, rounds: 4 }
    as: hash
  - insert: { table: marks, data: { number: "${ event.payload.number }", word: begun } }
  - hashPassword: { password: secret, rounds: 4 }
    as: hash
  - insert: { table: marks, data: { number: "${ event.payload.number }", word: done } }
"""
BEAT = """
steps:
  - insert: { table: marks, data: { number: 0, word: beat } }
"""
FILES = {
    "project.yaml": b"bbops: 1\nname: shop\n",
    "tables/marks.yaml": MARKS.encode(),
    "endpoints/order.yaml": endpoint("POST", "/orders", "order").encode(),
    "functions/order.yaml": ORDER.encode(),
    "functions/fulfil.yaml": FULFIL.encode(),
    "triggers/paid.yaml": b"event: order.paid\nfunction: fulfil\nretry: { backoff: 1ms }\n",
}


class Work(Served):
    """A server whose work can be looked at."""

    schema: PostgresPlace | None = None

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        if self.schema is not None:
            with psycopg.connect(self.schema.address) as connection:
                return connection.execute(sql.encode()).fetchall()
        file = self.repository / ".bbops/state/data.sqlite"
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            return database.execute(sql).fetchall()

    def count(self, word: str) -> int:
        return int(self.query(f"SELECT count(*) FROM marks WHERE word = '{word}'")[0][0])

    def count_like(self, word: str) -> int:
        """Return how many marks begin with a word."""
        return int(self.query(f"SELECT count(*) FROM marks WHERE word LIKE '{word}%'")[0][0])

    def states(self) -> dict[str, int]:
        return dict(self.query("SELECT state, count(*) FROM _bbops_jobs GROUP BY state"))

    def edit_row(self, sql: str) -> None:
        if self.schema is not None:
            with psycopg.connect(self.schema.address) as connection:
                connection.execute(sql.encode())
            return
        file = self.repository / ".bbops/state/data.sqlite"
        with closing(sqlite3.connect(file)) as database, database:
            database.execute(sql)

    def order(self, number: int, **more: Any) -> int:
        return self.api.post("/orders", json={"number": number, **more}).status_code

    def worker(self) -> int:
        """Return the process that works, once there is one."""
        found: list[int] = wait_for(lambda: workers(self.process.pid))
        return found[0]


def write(served: Work, files: Mapping[str, str | None]) -> None:
    """Commit files; None for one that goes."""
    for path, text in files.items():
        file = served.repository / path
        file.parent.mkdir(exist_ok=True)
        file.unlink() if text is None else file.write_text(text)
    served.commit()


def workers(pid: int) -> list[int]:
    return children(pid, "bbops_server.data_plane.work")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.long)])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    schema: PostgresPlace | None = None
    if request.param == "postgres":
        schema = request.getfixturevalue("schema")
    served: list[Work] = []

    def start(**more: str) -> Work:
        folder = tmp_path / "shop"
        if not folder.exists():
            texts = {path.replace("__", "/"): text.encode() for path, text in more.items()}
            files = FILES | {f"{path}.yaml": text for path, text in texts.items()}
            store.init(folder, files, message="Start")
        given = ["--schema", schema.schema] if schema else []
        env = {"HOOK_SECRET": SECRET} | ({"DATABASE_URL": schema.url} if schema else {})
        work = Work(folder, tmp_path / "home", "--workers", "2", *given, env=env)
        work.schema = schema
        served.append(work)
        work.live()
        return work

    yield start
    for one in served:
        if one.process.poll() is None:
            one.stop()
    if schema is not None:
        drop_schema(control_of(schema))
