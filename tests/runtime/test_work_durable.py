"""A job that is killed behind any of its effects ends as if it had never been."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from bbops.base.host import Host, HttpRequest, HttpResponse
from bbops.runtime.work.durable import durable_host
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.sql_engine import SqlEngine
from bbops.runtime.work.values import FencedError
from tests.support.mortal import KilledError, Mortal
from tests.support.work_bench import Bench, Work, bench, job, place

__all__ = ["bench", "place"]

NOTE = "INSERT INTO _bbops_notes (name, text) VALUES (?, ?) RETURNING name, text"


@dataclass
class World:
    """Clock, chance, log and another server, which count."""

    count: int = 0
    asked: list[str] = field(default_factory=list)

    def now(self) -> datetime:
        self.count += 1
        return datetime(2026, 1, self.count, tzinfo=UTC)

    def uuid(self) -> str:
        self.count += 1
        return f"uuid-{self.count}"

    def token(self, length: int) -> str:
        return self.uuid()[:length]

    def integer(self, low: int, high: int) -> int:
        self.count += 1
        return low + self.count % (high - low)

    def write(self, level: str, message: str, data: Any) -> None:
        del level, message, data

    async def send(self, request: HttpRequest) -> HttpResponse:
        self.asked.append(request.url)
        return HttpResponse(200, {"x": str(len(self.asked))}, request.url.encode())


def request(url: str) -> HttpRequest:
    return HttpRequest("POST", url, {}, b"", 1.0)


async def function(host: Host, recorded: RunRecord) -> None:
    """Do what a function with six steps would."""
    recorded.begin()
    recorded.enter("0")
    name, at = host.random.uuid(), host.clock.now()
    for round_ in range(2):
        recorded.enter("1/0")
        answer = await host.http.send(request(f"round {round_}"))  # type: ignore[union-attr]
        recorded.enter("1/1")
        await host.database.write(NOTE, (f"{round_} {name}", answer.body.decode()), at_most=1)
    recorded.enter("2")
    async with host.database.transaction() as inner:
        recorded.enter("2/0")
        ((first, _),) = await inner.write(NOTE, (f"first {at:%d}", ""))
        recorded.enter("2/1")
        await inner.write_all([(NOTE, (f"second behind {first}", ""))])
    recorded.enter("3")
    changed = await host.database.change("UPDATE _bbops_notes SET text = 'x' WHERE text = ''")
    recorded.enter("4")
    await host.events.emit("done", {"changed": changed})  # type: ignore[union-attr]


async def attempt(on: Bench, world: World, name: str, commits: int) -> bool:
    """Run the job once by a new worker; return whether it came to its end."""
    worker = on.worker(name)
    await worker.reclaim()
    (claim,) = await worker.claim(1)
    mortal = Mortal(on.database, commits)
    dying = SqlEngine(mortal, on.dialect, name, now=lambda: on.at)  # type: ignore[arg-type]
    recorded = RunRecord(dying, claim, await worker.steps(claim))
    host = Host(world, world, mortal, world, http=world)  # type: ignore[arg-type]
    try:
        await function(durable_host(host, recorded), recorded)
    except KilledError:
        return False
    assert await worker.end(claim)
    return True


async def ended(on: Bench, commits: int) -> tuple[Any, Any, int]:
    await on.database.change("DELETE FROM _bbops_notes WHERE name NOT LIKE 'keep%'")
    await on.database.change("DELETE FROM _bbops_events")
    await on.enqueue(job(f"job {commits}"))
    world = World()
    tries = 1
    while not await attempt(on, world, f"worker {commits} {tries}", commits if tries == 1 else 0):
        tries += 1
    await on.pump()
    rows = await on.database.read("SELECT name, text FROM _bbops_notes ORDER BY name")
    events = await on.database.read("SELECT name, payload FROM _bbops_events")
    assert 2 <= len(world.asked) <= 3
    return [*map(tuple, rows)], [*map(tuple, events)], tries


def test_a_job_killed_behind_any_commit_ends_alike(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        rows, events, _ = await ended(on, 0)
        assert [name for name, _ in rows if "uuid" in name] == ["0 uuid-1", "1 uuid-1"]
        assert events == [("done", '{"changed":2}')]
        killed = 0
        for commits in range(1, 9):
            found, said, tries = await ended(on, commits)
            assert (found, said) == (rows, events), commits
            killed += tries > 1
        assert killed >= 5

    bench(work)


def test_a_transaction_of_a_job_that_was_lost_is_undone(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        await on.enqueue(job("a"))
        claim = (await on.claim())["a"]
        await on.worker("two").reclaim()
        recorded = RunRecord(on.engine, claim, {})
        world = World()
        host = durable_host(Host(world, world, on.database, world), recorded)  # type: ignore[arg-type]
        recorded.begin()
        recorded.enter("0")
        with pytest.raises(FencedError):
            async with host.database.transaction() as inner:
                await inner.write(NOTE, ("lost", ""))
        assert await on.database.read("SELECT 1 FROM _bbops_notes WHERE name = 'lost'") == []

    bench(work)
