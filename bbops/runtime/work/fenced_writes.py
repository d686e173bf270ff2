"""Fenced commits of a job: changes and the records of their steps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

from bbops.base.host import Database
from bbops.runtime.values.failures import DatabaseFailure, Failure, FlowError
from bbops.runtime.work.results import pack, rows_of
from bbops.runtime.work.statements import Statement, WorkDialect, statements
from bbops.runtime.work.values import Cause, Claim, FencedError


class FenceErrors:
    """Context manager that raises FencedError when the database rejects a step record.

    A class, as each step of each job uses it: a generator is several times slower.
    """

    __slots__ = ("_job",)

    def __init__(self, job: Claim) -> None:
        self._job = job

    def __enter__(self) -> None:
        """Enter the block."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Failure) and is_fence_failure(error):
            raise FencedError(self._job.uid) from None


def is_fence_failure(failure: Failure) -> bool:
    """Return whether `_bbops_steps` rejected a row because its job is null."""
    return isinstance(failure, DatabaseFailure) and failure.table == "_bbops_steps"


MAX_BATCH: Final = 100
"""The most writes in one commit."""

MAX_BATCH_BYTES: Final = 64 << 10
"""The size above which a write gets its own commit, so that other writes do not wait for it."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class WriteBatcher(Generic[Item, Result]):
    """Combines writes of one loop iteration, or during the previous commit, into one commit.

    A commit costs more than a job's write, on both databases. Writes keep their order.
    """

    def __init__(self, write: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]]) -> None:
        """Args: `write`: writes items in one transaction and returns their results in order."""
        self._write = write
        self._waiting = list[tuple[Item, asyncio.Future[Result]]]()
        self._writing: asyncio.Task[None] | None = None

    async def add(self, item: Item) -> Result:
        """Write an item, and return its result after the commit. Raises the errors of `write`.

        After a cancellation the item may be written or not.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Result] = loop.create_future()
        self._waiting.append((item, done))
        if self._writing is None:
            self._writing = loop.create_task(self._write_all())
        return await done

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
                await self._write_batch([entry for entry in batch if not entry[1].done()])
        finally:
            self._writing = None

    async def _write_batch(self, batch: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        try:
            results = await self._write([item for item, _ in batch]) if batch else ()
        except BaseException as error:  # noqa: BLE001 - each waiting caller gets it
            await self._handle_failure(batch, error)
            return
        for (_, done), result in zip(batch, results, strict=True):
            if not done.done():
                done.set_result(result)

    async def _handle_failure(
        self, batch: Sequence[tuple[Item, asyncio.Future[Result]]], error: BaseException
    ) -> None:
        """Write each item alone if the database rejected the batch; else fail them all."""
        if len(batch) > 1 and isinstance(error, DatabaseFailure):
            for entry in batch:
                await self._write_batch([entry])
            return
        for _, done in batch:
            if not done.done():
                done.set_exception(error)


StepResults = Sequence[tuple[str, Any]]
"""Results by the paths of their steps."""

Rows = list[tuple[Any, ...]]


class StepRecords:
    """Writes the records of one worker's jobs.

    Attributes:
        records_cause: see `Engine`.
    """

    def __init__(self, database: Database, dialect: WorkDialect, owner: str) -> None:
        """Args: `owner`: the worker's name."""
        self._database, self._dialect, self._owner = database, dialect, owner
        self._sql = statements(dialect)
        self._batcher = WriteBatcher(self._write_batch)
        self.records_cause = False

    async def write(self, job: Claim, results: StepResults) -> None:
        """Record results in a shared commit. Raises as `Engine.checkpoint`."""
        packed = [(job, path, pack(result)) for path, result in results]
        is_large = sum(len(data) for _, _, data in packed) > MAX_BATCH_BYTES
        with FenceErrors(job):
            await (self._write_batch([packed]) if is_large else self._batcher.add(packed))

    async def _write_batch(
        self, batch: Sequence[Sequence[tuple[Claim, str, bytes]]]
    ) -> Sequence[None]:
        rows = [row for records in batch for row in records]
        if len(rows) == 1:
            await self._database.write(*self._record(*rows[0]))
        elif self._sql.record_all:
            jobs, paths, results = zip(*rows, strict=True)
            ids, fences = [job.id for job in jobs], [job.fence for job in jobs]
            await self._database.write(
                self._sql.record_all, (self._owner, ids, fences, [*paths], [*results])
            )
        else:
            await self._database.write_all([self._record(*row) for row in rows])
        return [None] * len(batch)

    async def change(
        self, job: Claim, path: str, effects: Sequence[Statement], also: StepResults,
        at_most: int | None,
    ) -> list[Rows]:  # fmt: skip
        """Change the project's tables and record the returned rows, as `Engine.change`."""
        records: list[Statement] = [self._record_rows(job, path, len(effects), at_most)]
        records += [self.statement(job, other, result) for other, result in also]
        begin, end = self.cause_statements(job)
        with FenceErrors(job):
            rows = await self._database.write_all([*begin, *effects, *end, *records])
        return rows_of(rows[len(begin) : len(begin) + len(effects)])

    def cause_statements(self, job: Claim) -> tuple[list[Statement], list[Statement]]:
        """Return the statements before and after a job's changes that name it as their cause."""
        if not self.records_cause:
            return [], []
        cause = Cause(job.uid, job.cause.depth + 1)
        begin, end = self._dialect.set_cause, self._dialect.clear_cause
        return [(begin, (cause.job, cause.depth))], [(end, ())] if end else []

    def statement(self, job: Claim, path: str, result: Any) -> Statement:
        """Return the statement that records a result."""
        return self._record(job, path, pack(result))

    def _record_rows(self, job: Claim, path: str, count: int, at_most: int | None) -> Statement:
        """Return the statement that records the rows of the `count` statements before it."""
        sql, (*claim, _) = self._record(job, path, b"")
        first = 1 if self.records_cause else 0

        def parameters(results: list[Rows]) -> Sequence[object]:
            rows = rows_of(results[first : first + count])
            if at_most is not None and any(len(changed) > at_most for changed in rows):
                limit = f"{at_most} row{'s' if at_most != 1 else ''}"
                raise FlowError(f"expected at most {limit} to change, found {len(rows[0])}")
            return *claim, pack(rows)

        return sql, parameters

    def _record(self, job: Claim, path: str, data: bytes) -> tuple[str, tuple[object, ...]]:
        return self._sql.record, (job.id, self._owner, job.fence, path, data)
