"""Write what a job does: effects and the record of their step in one commit, fenced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bbops.base.host import Database
from bbops.runtime.values.failures import FlowError
from bbops.runtime.work.dialect import Dialect
from bbops.runtime.work.fences import Fenced
from bbops.runtime.work.results import pack, rows_of
from bbops.runtime.work.shared import MOST_SHARED_BYTES, Shared
from bbops.runtime.work.statements import Statement, statements
from bbops.runtime.work.values import Cause, Claim

Noted = Sequence[tuple[str, Any]]
"""Results by the paths of their steps."""

Rows = list[tuple[Any, ...]]


class Records:
    """Writes the records of one worker's jobs.

    Attributes:
        names_cause: see `Engine`.
    """

    def __init__(self, database: Database, dialect: Dialect, owner: str) -> None:
        """Args: `owner`: the worker's name."""
        self._database, self._dialect, self._owner = database, dialect, owner
        self._say = statements(dialect)
        self._shared = Shared(self._write)
        self.names_cause = False

    async def write(self, job: Claim, noted: Noted) -> None:
        """Record results, with others of this turn of the loop. Raises as `Engine.checkpoint`."""
        packed = [(job, path, pack(result)) for path, result in noted]
        is_large = sum(len(data) for _, _, data in packed) > MOST_SHARED_BYTES
        with Fenced(job):
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
        self, job: Claim, path: str, effects: Sequence[Statement], also: Noted,
        at_most: int | None,
    ) -> list[Rows]:  # fmt: skip
        """Change the project's tables, and record the rows that come back. As `Engine.change`."""
        recorded: list[Statement] = [self._record_rows(job, path, len(effects), at_most)]
        recorded += [self.of(job, at, one) for at, one in also]
        begin, end = self.as_cause(job)
        with Fenced(job):
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
