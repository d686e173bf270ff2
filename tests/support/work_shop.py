"""A shop whose orders are jobs: workers run them one after the other, and die where a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from bbops.base.host import HttpResponse
from bbops.compiler.compile.release import build
from bbops.compiler.testing.host import FakeHttp, KeptFiles, KeptLog, KeptStorage, fake_host
from bbops.database.migrate.migrate import apply
from bbops.database.sqlite.driver import Sqlite
from bbops.database.sqlite.work import SqliteWork
from bbops.runtime.linking.release import link
from bbops.runtime.linking.work import Work, link_work
from bbops.runtime.values.failures import HttpFailure
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.sql_engine import SqlEngine
from bbops.runtime.work.statements import emit
from bbops.source.tree import MemoryTree
from tests.conftest import Files
from tests.support.mortal import KilledError, Mortal

LINES = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  text: { type: string, maxLength: 200 }
  once: { type: string, maxLength: 20, nullable: true, unique: true }
"""
PROJECT = "bbops: 1\nname: work\nenv:\n  PAY_KEY: { secret: true }\n"
ADDON = "enabled: true\nconfig: { secretKey: '${ env.PAY_KEY }' }\n"
TRIGGER = "event: order.paid\nfunction: fulfil\n"
BESIDE = """
input: { word: string }
steps:
  - insert: { table: lines, data: { text: "beside ${ input.word } ${ uuid() }" } }
"""

FULFIL = """
payload: { number: integer }
steps:
  - set: { id: "${ uuid() }", at: "${ now() }" }
  - loop:
      over: range(2)
      each: round
      steps:
        - insert: { table: lines, data: { text: "round ${ vars.round } ${ vars.id }" } }
        - find: { table: lines }
          as: seen
        - http:
            method: POST
            url: https://shop.example.com/
            body: { seen: "${ vars.seen | length }" }
          retry: { attempts: 3, backoff: 1ms }
          as: answer
        - insert: { table: lines, data: { text: "answer ${ vars.answer.body.n }" } }
  - try:
      - insert: { table: lines, data: { text: first, once: one } }
      - insert: { table: lines, data: { text: second, once: one } }
    catch:
      - insert: { table: lines, data: { text: caught } }
  - transaction:
      - try:
          - insert: { table: lines, data: { text: third, once: one } }
        catch:
          - find: { table: lines }
            as: seen
          - insert: { table: lines, data: { text: "inside ${ vars.seen | length }" } }
      - emit: { event: order.sent, payload: { at: "${ vars.at }" } }
  - parallel:
      left:
        - call: { function: beside, input: { word: left } }
        - call: { function: beside, input: { word: again } }
      right:
        - call: { function: beside, input: { word: right } }
  - find: { table: lines }
    as: every
  - loop:
      over: vars.every
      each: line
      steps:
        - if: vars.line.text == 'caught'
          then:
            - delete: { table: lines, where: id == vars.line.id }
  - log: { message: "sent ${ event.payload.number }" }
"""


class Flaky(FakeHttp):
    """Another server, which is away for the first call of each two."""

    async def send(self, request: Any) -> HttpResponse:
        self.sent.append(request)
        if len(self.sent) % 2:
            raise HttpFailure("httpUnreachable", "it is away")
        return HttpResponse(200, {"content-type": "application/json"}, b'{"n":%d}' % len(self.sent))


def files(fulfil: str = FULFIL) -> Files:
    return {
        "project.yaml": PROJECT, "tables/lines.yaml": LINES, "triggers/paid.yaml": TRIGGER,
        "functions/fulfil.yaml": fulfil, "functions/beside.yaml": BESIDE,
        "addons/payments.yaml": ADDON,
    }  # fmt: skip


class Shop:
    """The project, its database, and one worker after the other."""

    def __init__(self, database: Sqlite) -> None:
        self.database, self.log = database, KeptLog()
        self.http: FakeHttp = Flaky()
        self.random = fake_host(database).random
        self.storage, self.files = KeptStorage(), KeptFiles()
        self.more: Files = {}
        """Other files of the project."""

    def linked(self, door: Any, fulfil: str = FULFIL) -> Work:
        built = build(MemoryTree({**files(fulfil), **self.more}))
        assert built.project is not None, [str(one) for one in built.diagnostics]
        host = fake_host(door, http=self.http)
        host = replace(
            host, log=self.log, random=self.random, storage=self.storage, files=self.files
        )
        release = link(built.artifact, name="a", host=host, env={"PAY_KEY": "k" * 40})
        work = link_work(built.artifact, release)
        assert work is not None
        return work

    async def attempt(self, name: str, commits: int, fulfil: str = FULFIL) -> bool:
        """Run the job once by a new worker; return whether it came to its end."""
        door = Mortal(self.database, 0)
        engine = SqlEngine(door, SqliteWork(), name)  # type: ignore[arg-type]
        work = self.linked(door, fulfil)
        await engine.pump(work.plan.route)
        await engine.reclaim()
        (claim,) = await engine.claim(1)
        door.left = commits
        try:
            await work.plan.run(RunRecord(engine, claim, await engine.steps(claim)))
        except KilledError:
            return False
        finally:
            door.left = 0
        assert await engine.end(claim)
        return True

    async def lines_and_events(self) -> tuple[list[str], list[Any]]:
        rows = await self.database.read("SELECT text FROM lines ORDER BY id")
        events = await self.database.read(
            "SELECT name, payload FROM _bbops_outbox UNION ALL"
            " SELECT name, payload FROM _bbops_events WHERE name <> 'order.paid'"
        )
        texts = [text for (text,) in rows]
        beside = sorted(one.rpartition(" ")[0] for one in texts if one.startswith("beside"))
        return [one for one in texts if not one.startswith("beside")] + beside, [
            *map(tuple, events)
        ]


def run(tmp_path: Path, do: Callable[[Shop], Any]) -> Any:
    async def main() -> Any:
        file = tmp_path / "data.sqlite"
        built = build(MemoryTree(files()))
        assert built.project is not None, [str(one) for one in built.diagnostics]
        apply(file, {name: one.model for name, one in built.project.tables.items()})
        database = await Sqlite.open(file)
        try:
            await database.write_all([emit("order.paid", '{"number":7}', 0)])
            return await do(Shop(database))
        finally:
            await database.close()

    return asyncio.run(main())
