"""A release that sends webhooks, on each database, with a clock that stands still."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from bbops.compiler.compile.release import build
from bbops.compiler.testing.host import FakeHttp, fake_host
from bbops.database.migrate import migrate
from bbops.database.postgres.driver import Postgres
from bbops.database.postgres.work import PostgresWork
from bbops.database.schema.place import Place
from bbops.database.sqlite.driver import Sqlite
from bbops.database.sqlite.work import SqliteWork
from bbops.runtime.flow.caching import Cache
from bbops.runtime.flow.run import invoke
from bbops.runtime.linking.release import Release, link
from bbops.runtime.linking.work import Work, link_work
from bbops.runtime.work.events import EventOutbox
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.sent_webhooks import DeliveryLog
from bbops.runtime.work.values import Claim, LaterError
from bbops.source.tree import MemoryTree
from tests.support.work_bench import Bench

SECRET = f"whsec_{base64.b64encode(bytes(range(32))).decode()}"

RECEIVERS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  customer_id: { type: string, maxLength: 40 }
  url: { type: string, maxLength: 400 }
  secret: { type: string, maxLength: 100, private: true }
  events: { type: json, nullable: true }
  disabled_at: { type: datetime, nullable: true }
"""
CUSTOMERS = """
receivers: { table: receivers, owner: customer_id }
events:
  order.done: { number: integer, note?: string }
  order.lost: { number: integer }
"""
PARTNERS = """
receivers:
  - { url: "${ env.PARTNER_URL }", secret: "${ env.PARTNER_SECRET }" }
  - { url: https://second.example/hook, secret: "${ env.PARTNER_SECRET }" }
events: { order.done: { number: integer } }
"""
DONE = """
input: { customer: string, number: json, rollback?: boolean }
steps:
  - transaction:
      - send:
          webhook: customers
          event: order.done
          owner: ${ input.customer }
          payload: { number: "${ input.number }" }
        as: message
      - if: input.rollback == true
        then:
          - throw: { status: 418 }
  - return: { value: "${ vars.message.id }" }
"""
TELL = """
input: { number: integer }
steps:
  - send: { webhook: partners, event: order.done, payload: { number: "${ input.number }" } }
"""
HEAR = """
payload: { webhook: string, receiver: string, reason: string }
steps:
  - log: { message: "${ event.payload.receiver } is ${ event.payload.reason }" }
"""
FILES = {
    "project.yaml": "bbops: 1\nname: shop\n"
    "env: { PARTNER_URL: {}, PARTNER_SECRET: { secret: true } }\n",
    "tables/receivers.yaml": RECEIVERS, "webhooks/customers.yaml": CUSTOMERS,
    "webhooks/partners.yaml": PARTNERS, "functions/done.yaml": DONE, "functions/tell.yaml": TELL,
    "functions/hear.yaml": HEAR,
    "triggers/disabled.yaml": "event: bbops.receiver-disabled\nfunction: hear\n",
}  # fmt: skip
ENV = {"PARTNER_URL": "https://first.example/hook", "PARTNER_SECRET": SECRET}


class Shop:
    """The project above, and a worker that runs its jobs one by one."""

    def __init__(self, on: Bench, artifact: bytes, env: Mapping[str, str | None]) -> None:
        outbox = EventOutbox(on.database, on.dialect, lambda: on.at)
        self.http = FakeHttp()
        host = replace(fake_host(on.database, http=self.http), events=outbox)
        self.on = on
        self.log: Any = host.log
        self.release: Release = link(artifact, name="a", host=host, env=env)
        work = link_work(artifact, self.release)
        assert work is not None
        self.work: Work = work
        self.sent = DeliveryLog(on.database, self.release.sent, now=lambda: on.at)

    async def receiver(self, customer: str, url: str, events: str | None = None) -> int:
        """Add a receiver; return its key."""
        rows = await self.on.database.write(
            "INSERT INTO receivers (customer_id, url, secret, events) VALUES (?, ?, ?, ?)"
            " RETURNING id",
            (customer, url, SECRET, events),
        )
        return int(rows[0][0])

    async def call(self, name: str, **given: Any) -> Any:
        run = self.release.answering.run()
        run.cache, run.fuel = Cache(), [100_000]
        return await invoke(run, self.release.functions[name], given, None, None)

    async def work_off(self, rounds: int = 20) -> list[str]:
        """Run what is ready, and what that makes; return the names of the jobs."""
        names: list[str] = []
        for _ in range(rounds):
            while await self.on.engine.pump(self.work.plan.route, self.work.plan.arrange):
                pass
            await self.on.engine.wake_due()
            claimed = await self.on.engine.claim(50, bulk=50)
            for one in claimed:
                names.append(one.uid)
                await self.attempt(one)
            if not claimed:
                break
        return names

    async def attempt(self, claim: Claim) -> None:
        """Run a job, and end it as the worker does."""
        engine, plan = self.on.engine, self.work.plan
        try:
            result = await plan.run(RunRecord(engine, claim, await engine.steps(claim)))
        except LaterError as later:
            await engine.sleep(claim, later.at)
        except Exception as error:  # noqa: BLE001 - as the worker does
            pause = plan.retry(claim.work).pause_ms(claim.attempt, 0.5)
            await engine.fail(claim, str(error), None if pause is None else self.on.at + pause)
        else:
            await engine.end(claim, result=result)

    @property
    def asked(self) -> list[str]:
        """The addresses that were asked."""
        return [one.url for one in self.http.sent]

    @property
    def said(self) -> list[str]:
        """What functions have logged."""
        return [message for _, message, _ in self.log.lines]

    async def states(self) -> list[tuple[str, int]]:
        """Return state and tries of what was sent, the oldest first."""
        found = await self.sent.list(1_000)
        return [(one.state, one.tries) for one in reversed(found)]


def run_shop(
    place: Place, work: Callable[[Shop], Awaitable[None]], env: Mapping[str, str | None] = ENV
) -> None:  # fmt: skip
    """Build the project, migrate its database, and work with it."""
    is_file = isinstance(place, Path)
    built = build(MemoryTree(FILES), database="sqlite" if is_file else "postgres")
    assert built.project is not None, [str(one) for one in built.diagnostics]
    migrate.apply(place, {name: one.model for name, one in built.project.tables.items()})

    async def main() -> None:
        opened: Any = await (Sqlite.open(place) if is_file else Postgres.open(place))
        dialect: Any = SqliteWork() if is_file else PostgresWork()
        try:
            async with asyncio.timeout(60):
                await work(Shop(Bench(opened, dialect), built.artifact, env))
        finally:
            with suppress(Exception):
                await opened.close()

    asyncio.run(main())
