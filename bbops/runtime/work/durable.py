"""The host of a job: calls with a recorded result return it instead of running again.

Each class wraps an interface as `door`, the name by which `runtime.vendors` unwraps it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from bbops.base.doors import Listed, OpenFile, Parts, Pieces, RunFile, Storage
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
from bbops.runtime.values.failures import FlowError
from bbops.runtime.work.events import EventOutbox
from bbops.runtime.work.fenced_writes import FenceErrors
from bbops.runtime.work.results import FailureRecorder, rows_of
from bbops.runtime.work.run_record import RunRecord, scope
from bbops.runtime.work.values import Cause

Rows = list[tuple[Any, ...]]


def durable_host(host: Host, record: RunRecord) -> Host:
    """Return a release's host with interfaces that record their results for a job."""
    database = _JobDatabase(host.database, record)
    job = record.job
    return replace(
        host,
        clock=_JobClock(host.clock, record), random=_JobRandom(host.random, record),
        log=_JobLog(host.log, record), database=database,
        events=EventOutbox(
            database, record.engine.dialect, record.engine.now,
            cause=Cause(job.uid, job.cause.depth + 1),
        ),
        waits=record, record=record, unrecorded=host,
        http=host.http and _JobHttp(host.http, record),
        together=_JobHttpSequence(host.http, record) if host.http else None,
        addons=host.addons and _JobAddons(host.addons, record),
        storage=host.storage and JobStorage(host.storage, record),
        realtime=host.realtime and _JobRealtime(host.realtime, record),
    )  # fmt: skip


@dataclass(slots=True)
class _JobClock:
    door: Clock
    record: RunRecord

    def now(self) -> datetime:
        now: datetime = self.record.draw(self.door.now)
        return now


@dataclass(slots=True)
class _JobRandom:
    door: Random
    record: RunRecord

    def uuid(self) -> str:
        return str(self.record.draw(self.door.uuid))

    def token(self, length: int) -> str:
        return str(self.record.draw(lambda: self.door.token(length)))

    def integer(self, low: int, high: int) -> int:
        return int(self.record.draw(lambda: self.door.integer(low, high)))


@dataclass(slots=True)
class _JobLog:
    door: Log
    record: RunRecord

    def write(self, level: str, message: str, data: Mapping[str, Any]) -> None:
        self.record.draw(lambda: self.door.write(level, message, data))


@dataclass(slots=True)
class _JobDatabase:
    door: Database
    record: RunRecord

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> Rows:
        async def read() -> Rows:
            return rows_of([await self.door.read(sql, parameters)])[0]

        return rows_of([await self.record.read_once(read)])[0]

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> Rows:
        return (await self.record.change([(sql, parameters)], at_most=at_most))[0]

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        return int((await self.write(sql, parameters))[0][0])

    async def write_all(self, statements: Sequence[tuple[str, Parameters]]) -> list[Rows]:
        return await self.record.change(statements)

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> list[dict[str, Any]]:
        if not writes:
            rows = await self.record.read_once(lambda: self.door.rows(sql, parameters))
            return list(rows)
        async with self._transaction() as inner:
            return await inner.rows(sql, parameters, writes=True)

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Database]:
        record = self.record
        path = record.next_path()
        if record.has_result(path):
            await record.replay(path)
            with scope(path):
                yield _ReplayedTransaction(self.door, record)
            return
        engine, job = record.engine, record.job
        with FailureRecorder(record.buffer, path), record.take_buffered() as take:
            begin, end = engine.cause_statements(job)
            async with self.door.transaction() as inner:
                transaction = _RecordedTransaction(inner, record)
                if begin:
                    await inner.write_all(begin)
                with scope(path):
                    yield transaction
                if end:
                    await inner.write_all(end)
                results = [*transaction.results, *take(), (path, None)]
                with FenceErrors(job):
                    await inner.write_all(
                        [engine.record_statement(job, *result) for result in results]
                    )

    def transaction(self) -> AbstractAsyncContextManager[Database]:
        return self._transaction()


@dataclass(slots=True)
class _RecordedTransaction:
    """An open transaction that records the results of its calls when it commits."""

    door: Database
    record: RunRecord
    results: list[tuple[str, Any]] = field(default_factory=list)

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> Rows:
        path = self.record.next_path()
        with FailureRecorder(self._buffer, path):
            rows = rows_of([await self.door.read(sql, parameters)])[0]
        self._buffer(path, rows)
        return rows

    async def write(
        self, sql: str, parameters: Sequence[object] = (), *, at_most: int | None = None
    ) -> Rows:
        path = self.record.next_path()
        with FailureRecorder(self._buffer, path):
            rows = rows_of([await self.door.write(sql, parameters, at_most=at_most)])
        self._buffer(path, rows)
        return rows[0]

    async def change(self, sql: str, parameters: Sequence[object] = ()) -> int:
        return int((await self.write(sql, parameters))[0][0])

    async def write_all(self, statements: Sequence[tuple[str, Parameters]]) -> list[Rows]:
        path = self.record.next_path()
        with FailureRecorder(self._buffer, path):
            rows = rows_of(await self.door.write_all(statements))
        self._buffer(path, rows)
        return rows

    async def rows(
        self, sql: str, parameters: Sequence[object] = (), *, writes: bool = False
    ) -> list[dict[str, Any]]:
        path = self.record.next_path()
        with FailureRecorder(self._buffer, path):
            rows = await self.door.rows(sql, parameters, writes=writes)
        self._buffer(path, rows)
        return rows

    def transaction(self) -> AbstractAsyncContextManager[Database]:
        return self.door.transaction()

    def _buffer(self, path: str, value: Any) -> None:
        self.results.append((path, value))


@dataclass(slots=True)
class _ReplayedTransaction:
    """A transaction that an earlier attempt committed."""

    door: Database
    record: RunRecord

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
        return await self.record.replay(self.record.next_path())


@dataclass(slots=True)
class _JobHttp:
    door: Http
    record: RunRecord

    async def send(self, request: HttpRequest) -> HttpResponse:
        async def send() -> list[Any]:
            response = await self.door.send(request)
            return [response.status, dict(response.headers), response.body]

        return HttpResponse(*await self.record.request(send))

    async def send_mail(self, request: MailRequest) -> Sequence[str]:
        async def send() -> list[str]:
            return list(await self.door.send_mail(request))

        return list(await self.record.request(send))


@dataclass(slots=True)
class _JobHttpSequence:
    """Records only the last response of several requests: sessions and tokens expire."""

    door: Http
    record: RunRecord

    async def do(self, ask: Callable[[Http], Awaitable[HttpResponse]]) -> HttpResponse:
        async def send() -> list[Any]:
            response = await ask(self.door)
            return [response.status, dict(response.headers), response.body]

        return HttpResponse(*await self.record.request(send))


@dataclass(slots=True)
class _JobAddons:
    door: Addons
    record: RunRecord

    async def call(self, step: str, parameters: Mapping[str, Any]) -> Any:
        return await self.record.request(lambda: self.door.call(step, parameters))

    async def stream(self, step: str, parameters: Mapping[str, Any]) -> Pieces:
        del step, parameters
        raise FlowError("only requests have answers that go on")

    def takes(self, step: str) -> bool:
        return self.door.takes(step)


@dataclass(slots=True)
class _JobRealtime:
    door: Realtime
    record: RunRecord

    async def publish(
        self, realtime: str, params: Mapping[str, Any], event: str, payload: Any
    ) -> None:
        """Publish at most once: the call is recorded first, so a retry does not repeat it."""
        if await self.record.mark_started():
            await self.door.publish(realtime, params, event, payload)


@dataclass(slots=True)
class JobStorage:
    """Storage that runs each call once, unless the process ends before the result is recorded."""

    door: Storage
    record: RunRecord

    async def save(self, base: Parts, path: Parts, content: bytes | RunFile) -> int:
        """Write a file, see `Storage`."""
        return int(await self.record.perform(lambda: self.door.save(base, path, content)))

    async def open(self, base: Parts, path: Parts) -> OpenFile | None:
        """Return a file, see `Storage`."""
        file = await self.door.open(base, path)
        facts = await self.record.read_once(lambda: _file_facts(file))
        return None if facts is None else _JobFile(self, file, facts)

    async def delete(self, base: Parts, path: Parts) -> None:
        """Remove a file, see `Storage`."""
        await self.record.perform(lambda: self.door.delete(base, path))

    async def list(
        self, base: Parts, path: Parts, *, recursive: bool, most: int
    ) -> Sequence[Listed]:
        """Return the files and folders of a folder, see `Storage`."""

        async def list_() -> list[list[Any]]:
            entries = await self.door.list(base, path, recursive=recursive, most=most)
            return [[entry.path, entry.size_bytes, entry.is_folder] for entry in entries]

        return [Listed(*entry) for entry in await self.record.read_once(list_)]

    async def exists(self, base: Parts, path: Parts) -> bool:
        """Return whether a file exists."""
        return bool(await self.record.read_once(lambda: self.door.exists(base, path)))


async def _file_facts(file: OpenFile | None) -> list[Any] | None:
    return None if file is None else [file.size_bytes, file.tag]


class _JobFile:
    """A file with its recorded size, tag and content."""

    def __init__(self, storage: JobStorage, file: OpenFile | None, facts: list[Any]) -> None:
        self._record, self._file = storage.record, file
        self.size_bytes, self.tag = int(facts[0]), str(facts[1])

    async def read(self, first: int, most: int) -> bytes:
        """Return up to `most` bytes from offset `first`."""

        async def read() -> bytes:
            if self._file is None:
                raise FileNotFoundError("the file is gone")
            return await self._file.read(first, most)

        return bytes(await self._record.read_once(read))
