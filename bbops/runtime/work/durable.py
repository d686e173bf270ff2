"""Doors of a job: recorded results are not computed again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from bbops.base.host import (
    Addons,
    Clock,
    Database,
    Host,
    Http,
    HttpRequest,
    HttpResponse,
    Log,
    MailRequest,
    Parameters,
    Random,
    Realtime,
)
from bbops.base.storage import Listed, OpenFile, Parts, RunFile, Storage
from bbops.base.streaming import Pieces
from bbops.runtime.values.failures import FlowError
from bbops.runtime.work.events import EventOutbox
from bbops.runtime.work.fenced_writes import FenceErrors
from bbops.runtime.work.results import FailureRecorder, rows_of
from bbops.runtime.work.run_record import RunRecord, scope
from bbops.runtime.work.values import Cause


@dataclass(slots=True)
class JobStorage:
    """Does each call once, as far as the record goes."""

    door: Storage
    recorded: RunRecord

    async def save(self, base: Parts, path: Parts, content: bytes | RunFile) -> int:
        """Write a file, see `Storage`."""
        return int(await self.recorded.once(lambda: self.door.save(base, path, content)))

    async def open(self, base: Parts, path: Parts) -> OpenFile | None:
        """Return a file, see `Storage`."""
        found = await self.door.open(base, path)
        told = await self.recorded.look(lambda: _file_facts(found))
        return None if told is None else _JobFile(self, found, told)

    async def delete(self, base: Parts, path: Parts) -> None:
        """Remove a file, see `Storage`."""
        await self.recorded.once(lambda: self.door.delete(base, path))

    async def list(
        self, base: Parts, path: Parts, *, recursive: bool, most: int
    ) -> Sequence[Listed]:
        """Return what is in a folder, see `Storage`."""

        async def list_() -> list[list[Any]]:
            found = await self.door.list(base, path, recursive=recursive, most=most)
            return [[one.path, one.size_bytes, one.is_folder] for one in found]

        return [Listed(*one) for one in await self.recorded.look(list_)]

    async def exists(self, base: Parts, path: Parts) -> bool:
        """Return whether there is a file."""
        return bool(await self.recorded.look(lambda: self.door.exists(base, path)))


async def _file_facts(found: OpenFile | None) -> list[Any] | None:
    return None if found is None else [found.size_bytes, found.tag]


class _JobFile:
    """A file as it was read the first time."""

    def __init__(self, storage: JobStorage, found: OpenFile | None, told: list[Any]) -> None:
        self._recorded, self._found = storage.recorded, found
        self.size_bytes, self.tag = int(told[0]), str(told[1])

    async def read(self, first: int, most: int) -> bytes:
        """Return a part of it."""

        async def read() -> bytes:
            if self._found is None:
                raise FileNotFoundError("the file is gone")
            return await self._found.read(first, most)

        return bytes(await self._recorded.look(read))


Rows = list[tuple[Any, ...]]


def durable_host(host: Host, recorded: RunRecord) -> Host:
    """Return the doors of a release as a job uses them."""
    database = _JobDatabase(host.database, recorded)
    job = recorded.job
    return replace(
        host,
        clock=_JobClock(host.clock, recorded), random=_JobRandom(host.random, recorded),
        log=_JobLog(host.log, recorded), database=database,
        events=EventOutbox(
            database, recorded.engine.dialect, recorded.engine.now,
            cause=Cause(job.uid, job.cause.depth + 1),
        ),
        waits=recorded, record=recorded, unrecorded=host,
        http=host.http and _JobHttp(host.http, recorded),
        together=_JobHttpSequence(host.http, recorded) if host.http else None,
        addons=host.addons and _JobAddons(host.addons, recorded),
        storage=host.storage and JobStorage(host.storage, recorded),
        realtime=host.realtime and _JobRealtime(host.realtime, recorded),
    )  # fmt: skip


@dataclass(slots=True)
class _JobClock:
    door: Clock
    recorded: RunRecord

    def now(self) -> datetime:
        found: datetime = self.recorded.draw(self.door.now)
        return found


@dataclass(slots=True)
class _JobRandom:
    door: Random
    recorded: RunRecord

    def uuid(self) -> str:
        return str(self.recorded.draw(self.door.uuid))

    def token(self, length: int) -> str:
        return str(self.recorded.draw(lambda: self.door.token(length)))

    def integer(self, low: int, high: int) -> int:
        return int(self.recorded.draw(lambda: self.door.integer(low, high)))


@dataclass(slots=True)
class _JobLog:
    door: Log
    recorded: RunRecord

    def write(self, level: str, message: str, data: Mapping[str, Any]) -> None:
        self.recorded.draw(lambda: self.door.write(level, message, data))


@dataclass(slots=True)
class _JobDatabase:
    door: Database
    recorded: RunRecord

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> Rows:
        async def read() -> Rows:
            return rows_of([await self.door.read(sql, parameters)])[0]

        return rows_of([await self.recorded.look(read)])[0]

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
            found = await self.recorded.look(lambda: self.door.rows(sql, parameters))
            return list(found)
        async with self._transaction() as inner:
            return await inner.rows(sql, parameters, writes=True)

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Database]:
        recorded = self.recorded
        path = recorded.place()
        if recorded.is_known(path):
            await recorded.recall(path)
            with scope(path):
                yield _ReplayedTransaction(self.door, recorded)
            return
        engine, job = recorded.engine, recorded.job
        with FailureRecorder(recorded.note, path), recorded.taking() as take:
            begin, end = engine.as_cause(job)
            async with self.door.transaction() as inner:
                within = _RecordedTransaction(inner, recorded)
                if begin:
                    await inner.write_all(begin)
                with scope(path):
                    yield within
                if end:
                    await inner.write_all(end)
                every = [*within.done, *take(), (path, None)]
                with FenceErrors(job):
                    await inner.write_all([engine.record_of(job, *one) for one in every])

    def transaction(self) -> AbstractAsyncContextManager[Database]:
        return self._transaction()


@dataclass(slots=True)
class _RecordedTransaction:
    """A transaction that runs: what its calls give is recorded as it commits."""

    door: Database
    recorded: RunRecord
    done: list[tuple[str, Any]] = field(default_factory=list)

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> Rows:
        path = self.recorded.place()
        with FailureRecorder(self._note, path):
            found = rows_of([await self.door.read(sql, parameters)])[0]
        self._note(path, found)
        return found

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> Rows:
        path = self.recorded.place()
        with FailureRecorder(self._note, path):
            found = rows_of([await self.door.write(sql, parameters, at_most=at_most)])
        self._note(path, found)
        return found[0]

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        return int((await self.write(sql, parameters))[0][0])

    async def write_all(self, statements: Sequence[tuple[str, Parameters]]) -> list[Rows]:
        path = self.recorded.place()
        with FailureRecorder(self._note, path):
            found = rows_of(await self.door.write_all(statements))
        self._note(path, found)
        return found

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> list[dict[str, Any]]:
        path = self.recorded.place()
        with FailureRecorder(self._note, path):
            found = await self.door.rows(sql, parameters, writes=writes)
        self._note(path, found)
        return found

    def transaction(self) -> AbstractAsyncContextManager[Database]:
        return self.door.transaction()

    def _note(self, path: str, value: Any) -> None:
        self.done.append((path, value))


@dataclass(slots=True)
class _ReplayedTransaction:
    """A transaction that was committed by an attempt before."""

    door: Database
    recorded: RunRecord

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> Rows:
        del sql, parameters
        return rows_of([await self._next()])[0]

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> Rows:
        del sql, parameters, at_most
        return rows_of(await self._next())[0]

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        return int((await self.write(sql, parameters))[0][0])

    async def write_all(self, statements: Sequence[tuple[str, Parameters]]) -> list[Rows]:
        del statements
        return rows_of(await self._next())

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> list[dict[str, Any]]:
        del sql, parameters, writes
        return list(await self._next())

    def transaction(self) -> AbstractAsyncContextManager[Database]:
        return self.door.transaction()

    async def _next(self) -> Any:
        return await self.recorded.recall(self.recorded.place())


@dataclass(slots=True)
class _JobHttp:
    door: Http
    recorded: RunRecord

    async def send(self, request: HttpRequest) -> HttpResponse:
        async def send() -> list[Any]:
            answer = await self.door.send(request)
            return [answer.status, dict(answer.headers), answer.body]

        return HttpResponse(*await self.recorded.ask(send))

    async def send_mail(self, request: MailRequest) -> Sequence[str]:
        async def send() -> list[str]:
            return list(await self.door.send_mail(request))

        return list(await self.recorded.ask(send))


@dataclass(slots=True)
class _JobHttpSequence:
    """Only the outcome is recorded: a session or a token on the way is of no use later."""

    door: Http
    recorded: RunRecord

    async def do(self, ask: Callable[[Http], Awaitable[HttpResponse]]) -> HttpResponse:
        async def all_of_it() -> list[Any]:
            answer = await ask(self.door)
            return [answer.status, dict(answer.headers), answer.body]

        return HttpResponse(*await self.recorded.ask(all_of_it))


@dataclass(slots=True)
class _JobAddons:
    door: Addons
    recorded: RunRecord

    async def call(self, step: str, parameters: Mapping[str, Any]) -> Any:
        return await self.recorded.ask(lambda: self.door.call(step, parameters))

    async def stream(self, step: str, parameters: Mapping[str, Any]) -> Pieces:
        del step, parameters
        raise FlowError("only requests have answers that go on")

    def takes(self, step: str) -> bool:
        return self.door.takes(step)


@dataclass(slots=True)
class _JobRealtime:
    door: Realtime
    recorded: RunRecord

    async def publish(
        self, realtime: str, params: Mapping[str, Any], event: str, payload: Any
    ) -> None:
        """Publish at most once: it is recorded first, so that no later attempt does so again."""
        if await self.recorded.before():
            await self.door.publish(realtime, params, event, payload)
