"""The record of a job's run: results of its steps, and its position."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from bbops.runtime.work.engine import Engine
from bbops.runtime.work.results import (
    CANCELLED_CALL,
    BufferedResults,
    FailureRecorder,
    PackedResult,
    RecordedFailure,
    ResultDigest,
    pack,
    pack_read,
    rows_of,
)
from bbops.runtime.work.statements import Statement
from bbops.runtime.work.triggers import read_payload
from bbops.runtime.work.values import AsleepError, Claim, HeldError, JobWait

Rows = list[tuple[Any, ...]]

CHANGED: Final = "its function has changed since it began"

CODE: Final = "code"
"""The path under which a job records the digest of the code that it began with."""

UNTIL: Final = "~until"
"""The end of the path under which a `wait` records its deadline; the wait is not complete yet."""


@dataclass(slots=True)
class _Position:
    """The position of a run in its function. Each asyncio task of the run has its own."""

    record: RunRecord
    scope: str = ""
    step: str = ""
    calls: int = 0


@dataclass(slots=True)
class _StepResponses:
    """Responses that a step has not accepted, and its later results."""

    results: list[tuple[str, Any]] = field(default_factory=list)
    is_rejected: bool = False


@dataclass(slots=True)
class JobUsage:
    """The use of outside resources by an attempt.

    Attributes:
        tokens: the tokens that models have read and written; recorded answers do not count.
    """

    tokens: int = 0


_POSITION: ContextVar[_Position] = ContextVar("_POSITION")


class RunRecord:
    """The recorded results of a job, by the paths of its calls."""

    def __init__(
        self, engine: Engine, job: Claim, known: Mapping[str, Any], usage: JobUsage | None = None
    ) -> None:  # fmt: skip
        self.engine, self.job, self.usage = engine, job, usage or JobUsage()
        self._replayed = set[str]()
        self._known = dict(known)
        self._buffer = list[tuple[str, Any]]()
        self._responses = dict[str, _StepResponses]()
        self._visits = dict[str, int]()
        self._positions: Mapping[tuple[str, str], int] = {}
        self._received = set[int]()

    @property
    def code(self) -> str:
        """The digest of the code that the job began with; empty before its first step."""
        return str(self._known.get(CODE, ""))

    def begin(self, code: str = "") -> None:
        """Begin or continue the run in the current asyncio task.

        Args:
            code: the digest of the code to run.

        Raises:
            HeldError: the job began with different code.
        """
        _POSITION.set(_Position(self))
        if self._known.get(CODE, code) != code:
            raise HeldError(CHANGED)
        if CODE not in self._known:
            self.buffer(CODE, code)

    def enter(self, step: str) -> None:
        """Move the position to a step."""
        at = _POSITION.get()
        self._settle(at.scope)
        name = at.scope + step
        visit = self._visits[name] = self._visits.get(name, 0) + 1
        _POSITION.set(_Position(self, at.scope, f"{name}#{visit}"))

    def next_path(self) -> str:
        """Return the path of the next call."""
        at = _POSITION.get()
        at.calls += 1
        return f"{at.step}.{at.calls}"

    # ---- reading the record
    def has_result(self, path: str) -> bool:
        """Return whether the result of a call is recorded."""
        return path in self._known

    async def replay(self, path: str) -> Any:
        """Return the recorded result of a call, or raise its recorded failure.

        Raises:
            Failure: the recorded failure.
        """
        result = self._known[path]
        self._replayed.add(_step_of(path))
        if isinstance(result, RecordedFailure):
            raise result.error()
        if result is CANCELLED_CALL:  # block until the caller cancels the call again
            await asyncio.Event().wait()
        return result

    # ---- writing the record
    def buffer(self, path: str, value: Any) -> None:
        """Buffer a result until the next commit of the job records it.

        The results that follow a response in its step are recorded with the response.
        """
        responses = self._responses.get(_step_of(path)) if self._responses else None
        (self._buffer if responses is None else responses.results).append((path, value))

    def take_buffered(self) -> BufferedResults:
        """Return a context manager that empties the buffer, and refills it if its block fails."""
        return BufferedResults(self._buffer)

    def draw(self, make: Callable[[], Any]) -> Any:
        """Return a value that is generated in the first attempt alone."""
        path = self.next_path()
        if path not in self._known:
            value = make()
            self.buffer(path, value)
            return value
        return self._known[path]

    async def read_once(self, read: Callable[[], Awaitable[Any]]) -> Any:
        """Return the result of a read: recorded, or read now and recorded.

        Raises:
            HeldError: only the digest is recorded, and the result has changed.
        """
        path = self.next_path()
        if not self.has_result(path):
            with FailureRecorder(self.buffer, path):
                result = await read()
            self.buffer(path, pack_read(result))
            return result
        known = await self.replay(path)
        if not isinstance(known, ResultDigest):
            return known
        result = await read()
        if not known.matches(result):
            raise HeldError("rows that it has read have changed since, and are too many to keep")
        return result

    async def change(
        self, effects: Sequence[Statement], *, at_most: int | None = None
    ) -> list[Rows]:
        """Change the project's tables exactly once, and return the rows of each statement.

        Raises:
            FencedError: another worker has claimed the job.
            Failure: the database rejected a statement; nothing is written.
        """
        path = self.next_path()
        if self.has_result(path):
            return rows_of(await self.replay(path))
        with FailureRecorder(self.buffer, path), self.take_buffered() as take:
            return await self.engine.change(self.job, path, effects, also=take(), at_most=at_most)

    def count_tokens(self, count: int) -> None:
        """Count tokens that the current step has used, unless its results were recorded before."""
        if _POSITION.get().step not in self._replayed:
            self.usage.tokens += count

    # ---- waits
    async def listen(self, events: Sequence[str]) -> None:
        """Register the job for the events that it may wait for."""
        if events:
            self._positions = await self.engine.listen(self.job, events)

    def pause(self, length_ms: int) -> None:
        """Return after a time.

        Raises:
            AsleepError: the time is not over.
        """
        path = self.next_path()
        if self.has_result(path):
            return
        until = self._deadline(path, length_ms)
        if self.engine.now() < until:
            raise AsleepError(JobWait(path, until))
        self.buffer(path, None)

    async def hear(
        self, event: str, is_it: Callable[[Any], bool], value: str, longest_ms: int
    ) -> Any:
        """Return the payload of the first matching event since the job began; None on timeout.

        A job receives an event in one of its steps only.

        Args:
            event: its name.
            is_it: the condition of the payload.
            value: a value that the payload contains, see `runtime.work.triggers`.
            longest_ms: the timeout.

        Raises:
            AsleepError: there is no such event yet.
        """
        path = self.next_path()
        until = self._deadline(path, longest_ms)
        if self.has_result(path):
            received = await self.replay(path)
        else:
            received = await self._find_event(path, event, is_it, value, until)
            self.buffer(path, received)
        if received is None:
            return None
        seq, payload = received
        self._received.add(seq)
        return read_payload(payload)

    async def _find_event(
        self, path: str, event: str, is_it: Callable[[Any], bool], value: str, until: int
    ) -> tuple[int, str] | None:
        now = self.engine.now()
        since = self._positions.get((event, path), self._positions.get((event, ""), 0))
        while rows := await self.engine.events_after(event, since):
            for seq, at, payload in rows:
                if at <= until and seq not in self._received and is_it(read_payload(payload)):
                    return seq, payload
            since = rows[-1][0]
        if now < until:
            raise AsleepError(JobWait(path, until, event, value, since))
        return None

    def _deadline(self, path: str, length_ms: int) -> int:
        """Return the deadline of a wait, counted from the first time that the job reached it."""
        path += UNTIL
        if path not in self._known:
            self._known[path] = self.engine.now() + length_ms
            self.buffer(path, self._known[path])
        return int(self._known[path])

    async def sleep(self, waits: Sequence[JobWait]) -> bool:
        """Requeue the job with its buffered results; return whether the claim was valid."""
        with self.take_buffered() as take:
            packed = [(path, PackedResult(pack(value))) for path, value in take()]
            return await self.engine.wait(self.job, waits, also=packed)

    async def perform(self, effect: Callable[[], Awaitable[Any]]) -> Any:
        """Run an effect outside of the database at least once, and return its recorded result.

        Earlier reads and generated values are recorded first, so that a repeated effect gets the
        same values, such as a `uuid()`.
        """
        path = self.next_path()
        if self.has_result(path):
            return await self.replay(path)
        await self._write_buffer()
        with FailureRecorder(self.buffer, path):
            result = await effect()
        with self.take_buffered() as take:
            await self.engine.checkpoint(self.job, path, result, also=take())
        return result

    async def request(self, effect: Callable[[], Awaitable[Any]]) -> Any:
        """Send a request to another server at least once, and return its response.

        The response is recorded by `accept`, or when the run reaches another step: then the
        function has caught the error in the response. Otherwise the next attempt of the job sends
        the request again, with the same values.
        """
        path = self.next_path()
        if self.has_result(path):
            return await self.replay(path)
        step = _step_of(path)
        responses = self._responses.get(step)
        if responses is not None and not responses.is_rejected:
            self._settle(f"{step}.")
        await self._write_buffer()
        self._responses.setdefault(step, _StepResponses())
        with FailureRecorder(self.buffer, path):
            result = await effect()
        self.buffer(path, result)
        return result

    async def accept(self) -> None:
        """Record the responses that the current step received."""
        step = _POSITION.get().step
        if step in self._responses:
            self._settle(f"{step}.")
            await self._write_buffer()

    def reject(self) -> None:
        """Do not record the responses of the current step until it accepts a later response."""
        responses = self._responses.get(_POSITION.get().step)
        if responses is not None:
            responses.is_rejected = True

    def _settle(self, prefix: str) -> None:
        """Move the results of the steps below a prefix into the buffer."""
        if self._responses:
            for step in [path for path in self._responses if f"{path}.".startswith(prefix)]:
                self._buffer += self._responses.pop(step).results

    async def _write_buffer(self) -> None:
        if any(at != CODE for at, _ in self._buffer):
            with self.take_buffered() as take:
                *others, (at, value) = take()
                await self.engine.checkpoint(self.job, at, value, also=others)

    async def mark_started(self) -> bool:
        """Record that a call starts; return False if an earlier attempt has recorded it.

        Raises:
            FencedError: another worker has claimed the job.
        """
        path = self.next_path()
        if self.has_result(path):
            return False
        with self.take_buffered() as take:
            await self.engine.checkpoint(self.job, path, None, also=take())
        return True


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Put the steps of a block below a name, so that they are counted separately."""
    before = _POSITION.get()
    _POSITION.set(_Position(before.record, f"{name}/"))
    try:
        yield
    finally:
        _POSITION.set(before)


def _step_of(path: str) -> str:
    return path.rpartition(".")[0]


# ---- calls of compiled code
def enter(step: str) -> None:
    """Move the current run to a step."""
    _POSITION.get().record.enter(step)


def count_tokens(count: int) -> None:
    """Count tokens of a model for the current run; see `RunRecord.count_tokens`."""
    _POSITION.get().record.count_tokens(count)


def enter_branch(name: str) -> None:
    """Make the current asyncio task a branch of the current step."""
    at = _POSITION.get()
    _POSITION.set(_Position(at.record, f"{at.step}.{name}/"))
