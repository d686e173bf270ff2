"""Functions that jobs run: killed behind any commit they end as if they had never been."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bbops.base.host import HttpResponse
from bbops.build.compile.release import build
from bbops.build.testing.host import FakeHttp, KeptLog, fake_host
from bbops.database.migrate.migrate import apply
from bbops.database.sqlite.driver import Sqlite
from bbops.database.sqlite.work import SqliteWork
from bbops.runtime.linking.release import link
from bbops.runtime.linking.work import Work, link_work
from bbops.runtime.values.failures import HttpFailure, PayloadFailure
from bbops.runtime.work.outbox import emit
from bbops.runtime.work.recorded import Recorded
from bbops.runtime.work.sql_engine import SqlEngine
from bbops.runtime.work.values import HeldError
from bbops.source.tree import MemoryTree
from tests.conftest import Files

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


class KilledError(BaseException):
    """The process ends here."""


class Mortal:
    """A database whose process ends behind its nth commit."""

    def __init__(self, door: Any, commits: int) -> None:
        self.door, self.left = door, commits

    def __getattr__(self, name: str) -> Any:
        return getattr(self.door, name)

    def count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise KilledError

    async def write(self, *given: Any, **more: Any) -> Any:
        found = await self.door.write(*given, **more)
        self.count()
        return found

    async def write_all(self, statements: Sequence[Any]) -> Any:
        found = await self.door.write_all(statements)
        self.count()
        return found

    def transaction(self) -> Any:
        return _Transaction(self)


class _Transaction:
    def __init__(self, mortal: Mortal) -> None:
        self.mortal, self.inner = mortal, mortal.door.transaction()

    async def __aenter__(self) -> Any:
        return await self.inner.__aenter__()

    async def __aexit__(self, *given: object) -> None:
        await self.inner.__aexit__(*given)
        if given[0] is None:
            self.mortal.count()


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

    def linked(self, door: Any, fulfil: str = FULFIL) -> Work:
        built = build(MemoryTree(files(fulfil)))
        assert built.project is not None, [str(one) for one in built.diagnostics]
        host = fake_host(door, http=self.http)
        host = replace(host, log=self.log, random=self.random)
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
            await work.plan.run(Recorded(engine, claim, await engine.steps(claim)))
        except KilledError:
            return False
        finally:
            door.left = 0
        assert await engine.end(claim)
        return True

    async def told(self) -> tuple[list[str], list[Any]]:
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


async def to_its_end(shop: Shop, commits: int) -> tuple[Any, int]:
    tries = 1
    while not await shop.attempt(f"worker {tries}", commits if tries == 1 else 0):
        tries += 1
    assert [message for _, message, _ in shop.log.lines] == ["sent 7"]
    assert len(shop.http.sent) <= 6
    return await shop.told(), tries


@pytest.mark.long
def test_a_function_killed_behind_any_commit_ends_alike(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    whole, _ = run(tmp_path / "whole", lambda shop: to_its_end(shop, 0))
    texts, events = whole
    assert [one.partition(" ")[0] for one in texts] == [
        "round", "answer", "round", "answer", "first", "inside", "beside", "beside", "beside",
    ]  # fmt: skip
    assert [name for name, _ in events] == ["order.sent"]
    killed = 0
    for commits in range(1, 16):
        folder = tmp_path / str(commits)
        folder.mkdir()
        found, tries = run(folder, lambda shop, after=commits: to_its_end(shop, after))
        assert found == whole, commits
        killed += tries > 1
    assert killed >= 10


ASK = """
payload: { number: integer }
steps:
  - find: { table: lines }
    as: lines
  - http:
      method: POST
      url: https://shop.example.com/
      headers: { Idempotency-Key: "${ uuid() }" }
      body: { seen: "${ vars.lines | length }", at: "${ now() }" }
    as: answer
  - insert: { table: lines, data: { text: "answer ${ vars.answer.body.n }" } }
"""


class DiesOnce(FakeHttp):
    """Another server, in whose first call the process ends once it has been sent."""

    async def send(self, request: Any) -> HttpResponse:
        self.sent.append(request)
        if len(self.sent) == 1:
            raise KilledError
        return HttpResponse(200, {"content-type": "application/json"}, b'{"n":7,"id":"cus_1"}')


def test_a_request_that_is_sent_again_is_the_same_request(tmp_path: Path) -> None:
    async def do(shop: Shop) -> None:
        shop.http = DiesOnce()
        assert not await shop.attempt("one", 0, ASK)
        await shop.database.change("INSERT INTO lines (text) VALUES ('another')")
        assert await shop.attempt("two", 0, ASK)
        first, second = shop.http.sent
        assert (first.body, first.headers) == (second.body, second.headers)
        assert first.headers["idempotency-key"]
        assert (await shop.told())[0] == ["another", "answer 7"]

    run(tmp_path, do)


PAY = """
payload: { number: integer }
steps:
  - loop:
      over: range(2)
      steps:
        - payments.createCustomer: { name: "customer ${ event.payload.number }" }
          as: customer
        - insert: { table: lines, data: { text: "${ vars.customer.id }" } }
"""


def test_a_step_of_an_addon_that_is_sent_again_has_the_key_it_had(tmp_path: Path) -> None:
    async def do(shop: Shop) -> None:
        shop.http = DiesOnce()
        assert not await shop.attempt("one", 0, PAY)
        assert await shop.attempt("two", 0, PAY)
        keys = [one.headers["idempotency-key"] for one in shop.http.sent]
        assert keys[0] == keys[1]
        assert keys[2] not in keys[:2]  # another round is another request
        assert (await shop.told())[0] == ["cus_1", "cus_1"]

    run(tmp_path, do)


def test_a_job_whose_function_has_changed_since_it_began_is_held(tmp_path: Path) -> None:
    async def do(shop: Shop) -> None:
        assert not await shop.attempt("one", 2)
        with pytest.raises(HeldError, match="has changed since"):
            await shop.attempt("two", 0, FULFIL.replace("caught", "found"))
        assert await shop.attempt("three", 0)

    run(tmp_path, do)


def test_a_payload_that_does_not_fit_fails_with_the_field(tmp_path: Path) -> None:
    async def do(shop: Shop) -> None:
        await shop.database.change('UPDATE _bbops_outbox SET payload = \'{"number": "x"}\'')
        with pytest.raises(PayloadFailure, match="does not fit function 'fulfil': 'number'"):
            await shop.attempt("one", 0)

    run(tmp_path, do)
