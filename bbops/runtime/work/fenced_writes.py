"""Effects of a job and the record of their step, in one fenced commit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

from bbops.base.host import Database
from bbops.runtime.values.failures import DatabaseFailure, Failure, FlowError
from bbops.runtime.work.results import pack, rows_of
from bbops.runtime.work.statements import WorkDialect, Statement, statements
from bbops.runtime.work.values import Cause, Claim, FencedError


class FenceErrors:
    """Says of a record that is refused in the block that somebody else has the job.

    A class, as each step of each job comes here: a generator costs several times as much.
    """

    __slots__ = ("_job",)

    def __init__(self, job: Claim) -> None:
        self._job = job

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Failure) and is_fence_failure(error):
            raise FencedError(self._job.uid) from None


def is_fence_failure(failure: Failure) -> bool:
    """Return whether the one table refused a row that is null where a job is wanted."""
    return isinstance(failure, DatabaseFailure) and failure.table == "_bbops_steps"


MAX_BATCH: Final = 100
"""Writes that share a commit."""

MAX_BATCH_BYTES: Final = 64 << 10
"""Of one of them: others would wait for more, and all of it is in memory at once."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class WriteBatcher(Generic[Item, Result]):
    """Collects what is asked for until the loop turns, or while the commit before is under way.

    A commit costs more than what a job writes, on both databases. Order is kept.
    """

    def __init__(self, write: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]]) -> None:
        """Args: `write`: writes several in one transaction; what it gives has their order."""
        self._write = write
        self._waiting = list[tuple[Item, asyncio.Future[Result]]]()
        self._writing: asyncio.Task[None] | None = None

    async def add(self, asked: Item) -> Result:
        """Return what the write gives, once it is committed. Raises what it raises.

        Whoever is cancelled may find it written.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Result] = loop.create_future()
        self._waiting.append((asked, done))
        if self._writing is None:
            self._writing = loop.create_task(self._write_all())
        return await done

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                some, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
                await self._write_some([one for one in some if not one[1].done()])
        finally:
            self._writing = None

    async def _write_some(self, some: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        try:
            found = await self._write([asked for asked, _ in some]) if some else ()
        except BaseException as error:  # noqa: BLE001 - it reaches each of those who wait
            await self._failed(some, error)
            return
        for (_, done), one in zip(some, found, strict=True):
            if not done.done():
                done.set_result(one)

    async def _failed(
        self, some: Sequence[tuple[Item, asyncio.Future[Result]]], error: BaseException
    ) -> None:
        """Write each alone where a row of one of them was refused; nothing is written then."""
        if len(some) > 1 and isinstance(error, DatabaseFailure):
            for one in some:
                await self._write_some([one])
            return
        for _, done in some:
            if not done.done():
                done.set_exception(error)


StepResults = Sequence[tuple[str, Any]]
"""Results by the paths of their steps."""

Rows = list[tuple[Any, ...]]


class StepRecords:
    """Writes the records of one worker's jobs.

    Attributes:
        names_cause: see `Engine`.
    """

    def __init__(self, database: Database, dialect: WorkDialect, owner: str) -> None:
        """Args: `owner`: the worker's name."""
        self._database, self._dialect, self._owner = database, dialect, owner
        self._say = statements(dialect)
        self._shared = WriteBatcher(self._write)
        self.names_cause = False

    async def write(self, job: Claim, noted: StepResults) -> None:
        """Record results, with others of this turn of the loop. Raises as `Engine.checkpoint`."""
        packed = [(job, path, pack(result)) for path, result in noted]
        is_large = sum(len(data) for _, _, data in packed) > MAX_BATCH_BYTES
        with FenceErrors(job):
            await (self._write([packed]) if is_large else self._shared.add(packed))

    async def _write(self, every: Sequence[Sequence[tuple[Claim, str, bytes]]]) -> Sequence[None]:
        rows = [one for some in every for one in some]
        if len(rows) == 1:
            await self._database.write(*self._record(*rows[0]))
        elif self._say.records:
            jobs, paths, results = zip(*rows, strict=True)
            ids, fences = [one.id for one in jobs], [one.fence for one in jobs]
            await self._database.write(
                self._say.records, (self._owner, ids, fences, [*paths], [*results])
            )
        else:
            await self._database.write_all([self._record(*one) for one in rows])
        return [None] * len(every)

    async def change(
        self, job: Claim, path: str, effects: Sequence[Statement], also: StepResults,
        at_most: int | None,
    ) -> list[Rows]:  # fmt: skip
        """Change the project's tables, and record the rows that come back. As `Engine.change`."""
        recorded: list[Statement] = [self._record_rows(job, path, len(effects), at_most)]
        recorded += [self.of(job, at, one) for at, one in also]
        begin, end = self.as_cause(job)
        with FenceErrors(job):
            rows = await self._database.write_all([*begin, *effects, *end, *recorded])
        return rows_of(rows[len(begin) : len(begin) + len(effects)])

    def as_cause(self, job: Claim) -> tuple[list[Statement], list[Statement]]:
        """Return what stands before and after a job's changes: that they are its own."""
        if not self.names_cause:
            return [], []
        caused = Cause(job.uid, job.cause.depth + 1)
        begin, end = self._dialect.names_cause, self._dialect.ends_cause
        return [(begin, (caused.job, caused.depth))], [(end, ())] if end else []

    def of(self, job: Claim, path: str, result: Any) -> Statement:
        """Return the statement that records a result."""
        return self._record(job, path, pack(result))

    def _record_rows(self, job: Claim, path: str, count: int, at_most: int | None) -> Statement:
        """Return the statement that records the rows of `count` effects before it."""
        sql, (*mine, _) = self._record(job, path, b"")
        first = 1 if self.names_cause else 0

        def given(results: list[Rows]) -> Sequence[object]:
            rows = rows_of(results[first : first + count])
            if at_most is not None and any(len(some) > at_most for some in rows):
                most = f"{at_most} row{'s' if at_most != 1 else ''}"
                raise FlowError(f"expected at most {most} to change, found {len(rows[0])}")
            return *mine, pack(rows)

        return sql, given

    def _record(self, job: Claim, path: str, data: bytes) -> tuple[str, tuple[object, ...]]:
        return self._say.record, (job.id, self._owner, job.fence, path, data)
