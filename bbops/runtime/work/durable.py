"""The doors of a job: what it has done before comes from the record, and is not done again.

A call through a door is known by where it stands: the step, how often the run has come there, and
which call of the step it is. Reads pass, so a job that goes on sees today's rows.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bbops.base.host import (
    Addons,
    Clock,
    Database,
    Events,
    Host,
    Http,
    HttpRequest,
    HttpResponse,
    Parameters,
    Random,
)
from bbops.runtime.work.engine import Engine, Statement, emit, fenced
from bbops.runtime.work.results import rows_of
from bbops.runtime.work.values import Cause, Claim

Rows = list[tuple[Any, ...]]


@dataclass(slots=True)
class _At:
    step: str
    calls: int = 0


class Recorded:
    """What a job has done, and where its run is."""

    def __init__(self, engine: Engine, job: Claim, known: Mapping[str, Any]) -> None:
        self.engine, self.job = engine, job
        self._known = dict(known)
        self._drawn = list[tuple[str, Any]]()
        self._visits = dict[str, int]()
        self._at: ContextVar[_At] = ContextVar("_at")

    def enter(self, step: str) -> None:
        """Say that the run has come to a step; compiled code does, before what the step does.

        Steps that run at a time do so in tasks of their own, each with a name of its own.
        """
        visit = self._visits[step] = self._visits.get(step, 0) + 1
        self._at.set(_At(f"{step}#{visit}"))

    def place(self) -> str:
        """Return the name of the next call."""
        at = self._at.get()
        at.calls += 1
        return f"{at.step}.{at.calls}"

    def draw(self, make: Any) -> Any:
        """Return a value that is drawn once: it is recorded with the next thing that is done."""
        path = self.place()
        if path not in self._known:
            self._known[path] = value = make()
            self._drawn.append((path, value))
        return self._known[path]

    def is_known(self, path: str) -> bool:
        """Return whether a call was made before."""
        return path in self._known

    def result(self, path: str) -> Any:
        """Return what a call gave."""
        return self._known[path]

    def take_drawn(self) -> list[tuple[str, Any]]:
        """Return what was drawn and is not recorded yet."""
        drawn, self._drawn = self._drawn, []
        return drawn

    async def change(
        self, effects: Sequence[Statement], *, at_most: int | None = None
    ) -> list[Rows]:
        """Change the project's tables exactly once, and return the rows of each statement.

        Raises:
            FencedError: somebody else has the job.
            Failure: it was refused; nothing is written.
        """
        path = self.place()
        if self.is_known(path):
            return rows_of(self.result(path))
        return await self.engine.change(
            self.job, path, effects, also=self.take_drawn(), at_most=at_most
        )

    async def once(self, effect: Any) -> Any:
        """Do something outside of the database at least once, and return its recorded result."""
        path = self.place()
        if self.is_known(path):
            return self.result(path)
        result = await effect()
        await self.engine.checkpoint(self.job, path, result, also=self.take_drawn())
        return result


def durable(host: Host, recorded: Recorded) -> Host:
    """Return the doors of a release as a job uses them."""
    return replace(
        host,
        clock=_JobClock(host.clock, recorded), random=_JobRandom(host.random, recorded),
        database=_JobDatabase(host.database, recorded), events=_JobEvents(host.events, recorded),
        http=host.http and _JobHttp(host.http, recorded),
        addons=host.addons and _JobAddons(host.addons, recorded),
    )  # fmt: skip


@dataclass(slots=True)
class _JobClock:
    door: Clock
    recorded: Recorded

    def now(self) -> datetime:
        found: datetime = self.recorded.draw(self.door.now)
        return found


@dataclass(slots=True)
class _JobRandom:
    door: Random
    recorded: Recorded

    def uuid(self) -> str:
        return str(self.recorded.draw(self.door.uuid))

    def token(self, length: int) -> str:
        return str(self.recorded.draw(lambda: self.door.token(length)))

    def integer(self, low: int, high: int) -> int:
        return int(self.recorded.draw(lambda: self.door.integer(low, high)))


@dataclass(slots=True)
class _JobDatabase:
    door: Database
    recorded: Recorded

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> Rows:
        return await self.door.read(sql, parameters)

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> Rows:
        return (await self.recorded.change([(sql, parameters)], at_most=at_most))[0]

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        return int((await self.write(sql, parameters))[0][0])

    async def write_all(self, statements: Sequence[tuple[str, Parameters]]) -> list[Rows]:
        return await self.recorded.change(statements)

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> list[dict[str, Any]]:
        if not writes:
            return await self.door.rows(sql, parameters)
        async with self._transaction() as inner:
            return await inner.rows(sql, parameters, writes=True)

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Database]:
        path = self.recorded.place()
        if self.recorded.is_known(path):
            yield _Replayed(self.door, self.recorded)
            return
        engine, job = self.recorded.engine, self.recorded.job
        async with self.door.transaction() as inner:
            within = _Within(inner, self.recorded, [])
            yield within
            every = [*within.done, *self.recorded.take_drawn(), (path, None)]
            with fenced(job):
                await inner.write_all([engine.record_of(job, *one) for one in every])

    def transaction(self) -> AbstractAsyncContextManager[Database]:
        return self._transaction()


@dataclass(slots=True)
class _Within:
    """A transaction that runs: what its calls give is recorded as it commits."""

    door: Database
    recorded: Recorded
    done: list[tuple[str, Any]]

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> Rows:
        return await self.door.read(sql, parameters)

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> Rows:
        return self._kept(await self.door.write(sql, parameters, at_most=at_most))

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        return int((await self.write(sql, parameters))[0][0])

    async def write_all(self, statements: Sequence[tuple[str, Parameters]]) -> list[Rows]:
        found = rows_of(await self.door.write_all(statements))
        self.done.append((self.recorded.place(), found))
        return found

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> list[dict[str, Any]]:
        found = await self.door.rows(sql, parameters, writes=writes)
        if writes:
            self.done.append((self.recorded.place(), found))
        return found

    def transaction(self) -> AbstractAsyncContextManager[Database]:
        return self.door.transaction()

    def _kept(self, rows: Rows) -> Rows:
        found = rows_of([rows])[0]
        self.done.append((self.recorded.place(), [found]))
        return found


@dataclass(slots=True)
class _Replayed:
    """A transaction that was committed by an attempt before."""

    door: Database
    recorded: Recorded

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> Rows:
        return await self.door.read(sql, parameters)

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> Rows:
        del sql, parameters, at_most
        return rows_of(self._next())[0]

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        return int((await self.write(sql, parameters))[0][0])

    async def write_all(self, statements: Sequence[tuple[str, Parameters]]) -> list[Rows]:
        del statements
        return rows_of(self._next())

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> list[dict[str, Any]]:
        if not writes:
            return await self.door.rows(sql, parameters)
        found: list[dict[str, Any]] = self._next()
        return found

    def transaction(self) -> AbstractAsyncContextManager[Database]:
        return self.door.transaction()

    def _next(self) -> Any:
        return self.recorded.result(self.recorded.place())


@dataclass(slots=True)
class _JobEvents:
    door: Events | None
    recorded: Recorded

    async def emit(self, event: str, payload: Any) -> None:
        job = self.recorded.job
        cause = Cause(job.uid, job.cause.depth + 1)
        at = self.recorded.engine.now()
        await self.recorded.change([emit(event, json.dumps(payload), at, cause=cause)])

    async def publish(
        self, realtime: str, params: Mapping[str, Any], event: str, payload: Any
    ) -> None:
        if self.door is not None:
            await self.door.publish(realtime, params, event, payload)


@dataclass(slots=True)
class _JobHttp:
    door: Http
    recorded: Recorded

    async def send(self, request: HttpRequest) -> HttpResponse:
        async def ask() -> list[Any]:
            answer = await self.door.send(request)
            return [answer.status, dict(answer.headers), answer.body]

        return HttpResponse(*await self.recorded.once(ask))


@dataclass(slots=True)
class _JobAddons:
    door: Addons
    recorded: Recorded

    async def call(self, step: str, parameters: Mapping[str, Any]) -> Any:
        return await self.recorded.once(lambda: self.door.call(step, parameters))
