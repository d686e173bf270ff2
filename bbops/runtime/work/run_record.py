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
    ResultDigest,
    RecordedFailure,
    FailureRecorder,
    PackedResult,
    BufferedResults,
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
"""The path under which a job records what it has begun with."""

UNTIL: Final = "~until"
"""Ends the path under which a `wait` records when it is over; it is not done by that."""


@dataclass(slots=True)
class _Position:
    """Where a run is. Each task of it has its own."""

    recorded: RunRecord
    scope: str = ""
    step: str = ""
    calls: int = 0


@dataclass(slots=True)
class _StepResponses:
    """Answers of a step that has not accepted them, and its notes since the first one."""

    notes: list[tuple[str, Any]] = field(default_factory=list)
    is_rejected: bool = False


_POSITION: ContextVar[_Position] = ContextVar("_AT")


class RunRecord:
    """What a job has done, by the places of its calls."""

    def __init__(self, engine: Engine, job: Claim, known: Mapping[str, Any]) -> None:
        self.engine, self.job = engine, job
        self._known = dict(known)
        self._notes = list[tuple[str, Any]]()
        self._answers = dict[str, _StepResponses]()
        self._visits = dict[str, int]()
        self._listens: Mapping[tuple[str, str], int] = {}
        self._heard = set[int]()

    @property
    def code(self) -> str:
        """The digest of what it has begun with; empty before it has done anything."""
        return str(self._known.get(CODE, ""))

    def begin(self, code: str = "") -> None:
        """Begin, or go on, in the current task.

        Args:
            code: the digest of what is to run.

        Raises:
            HeldError: it has begun with other code, and has done something there.
        """
        _POSITION.set(_Position(self))
        if self._known.get(CODE, code) != code:
            raise HeldError(CHANGED)
        if CODE not in self._known:
            self.note(CODE, code)

    def enter(self, step: str) -> None:
        """Say that the run has come to a step."""
        at = _POSITION.get()
        self._settle(at.scope)
        name = at.scope + step
        visit = self._visits[name] = self._visits.get(name, 0) + 1
        _POSITION.set(_Position(self, at.scope, f"{name}#{visit}"))

    def place(self) -> str:
        """Return the name of the next call."""
        at = _POSITION.get()
        at.calls += 1
        return f"{at.step}.{at.calls}"

    # ---- what comes from the record
    def is_known(self, path: str) -> bool:
        """Return whether a call was made before."""
        return path in self._known

    async def recall(self, path: str) -> Any:
        """Return what a call gave, or fail as it did.

        Raises:
            Failure: it failed.
        """
        found = self._known[path]
        if isinstance(found, RecordedFailure):
            raise found.error()
        if found is CANCELLED_CALL:  # it was waited for in vain, and so it is now
            await asyncio.Event().wait()
        return found

    # ---- what goes into it
    def note(self, path: str, value: Any) -> None:
        """Record something with the next thing that is done.

        What follows an answer in its step is recorded with the answer.
        """
        answers = self._answers.get(_step_of(path)) if self._answers else None
        (self._notes if answers is None else answers.notes).append((path, value))

    def taking(self) -> BufferedResults:
        """Return what takes the notes that are to be recorded; where that fails they are kept."""
        return BufferedResults(self._notes)

    def draw(self, make: Callable[[], Any]) -> Any:
        """Return a value that is drawn once."""
        path = self.place()
        if path not in self._known:
            value = make()
            self.note(path, value)
            return value
        return self._known[path]

    async def look(self, read: Callable[[], Awaitable[Any]]) -> Any:
        """Return what a read gives, or gave.

        Raises:
            HeldError: it gave more than is recorded, and gives something else now.
        """
        path = self.place()
        if not self.is_known(path):
            with FailureRecorder(self.note, path):
                found = await read()
            self.note(path, pack_read(found))
            return found
        known = await self.recall(path)
        if not isinstance(known, ResultDigest):
            return known
        found = await read()
        if not known.is_of(found):
            raise HeldError("rows that it has read have changed since, and are too many to keep")
        return found

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
            return rows_of(await self.recall(path))
        with FailureRecorder(self.note, path), self.taking() as take:
            return await self.engine.change(self.job, path, effects, also=take(), at_most=at_most)

    # ---- what it waits for
    async def listen(self, events: Sequence[str]) -> None:
        """Begin to listen to the events that the job may wait for."""
        if events:
            self._listens = await self.engine.listen(self.job, events)

    def pause(self, length_ms: int) -> None:
        """Go on when a time is over.

        Raises:
            AsleepError: it is not.
        """
        path = self.place()
        if self.is_known(path):
            return
        until = self._deadline(path, length_ms)
        if self.engine.now() < until:
            raise AsleepError(JobWait(path, until))
        self.note(path, None)

    async def hear(
        self, event: str, is_it: Callable[[Any], bool], value: str, longest_ms: int
    ) -> Any:
        """Return the payload of the first event of a name since the job began that is wanted.

        None when the time is over. An event is given to one step of a job only.

        Args:
            is_it: says of a payload whether it is the one.
            value: what it must hold somewhere, see `runtime.work.triggers`.

        Raises:
            AsleepError: there is none yet.
        """
        path = self.place()
        until = self._deadline(path, longest_ms)
        if self.is_known(path):
            found = await self.recall(path)
        else:
            found = await self._look_for(path, event, is_it, value, until)
            self.note(path, found)
        if found is None:
            return None
        place, payload = found
        self._heard.add(place)
        return read_payload(payload)

    async def _look_for(
        self, path: str, event: str, is_it: Callable[[Any], bool], value: str, until: int
    ) -> tuple[int, str] | None:
        now = self.engine.now()
        since = self._listens.get((event, path), self._listens.get((event, ""), 0))
        while rows := await self.engine.heard(event, since):
            for seq, at, payload in rows:
                if at <= until and seq not in self._heard and is_it(read_payload(payload)):
                    return seq, payload
            since = rows[-1][0]
        if now < until:
            raise AsleepError(JobWait(path, until, event, value, since))
        return None

    def _deadline(self, path: str, length_ms: int) -> int:
        """Return when a wait is over, counted from when the job first came to it."""
        path += UNTIL
        if path not in self._known:
            self._known[path] = self.engine.now() + length_ms
            self.note(path, self._known[path])
        return int(self._known[path])

    async def sleep(self, waits: Sequence[JobWait]) -> bool:
        """Put the job away with all that it has done; return whether it was still ours."""
        with self.taking() as take:
            packed = [(path, PackedResult(pack(value))) for path, value in take()]
            return await self.engine.wait(self.job, waits, also=packed)

    async def once(self, effect: Callable[[], Awaitable[Any]]) -> Any:
        """Do something outside of the database at least once, and return its recorded result.

        What was read and drawn before it is recorded first: should it be done again, it is the same
        again, down to the last `uuid()`.
        """
        path = self.place()
        if self.is_known(path):
            return await self.recall(path)
        await self._write_notes()
        with FailureRecorder(self.note, path):
            result = await effect()
        with self.taking() as take:
            await self.engine.checkpoint(self.job, path, result, also=take())
        return result

    async def ask(self, effect: Callable[[], Awaitable[Any]]) -> Any:
        """Ask another server at least once, and return its answer.

        The answer is recorded by `accept`, or where the run goes on to another step: then its
        function has caught that the answer was a refusal. Otherwise the next attempt of the job
        asks again, with the same values.
        """
        path = self.place()
        if self.is_known(path):
            return await self.recall(path)
        step = _step_of(path)
        answers = self._answers.get(step)
        if answers is not None and not answers.is_rejected:
            self._settle(f"{step}.")
        await self._write_notes()
        self._answers.setdefault(step, _StepResponses())
        with FailureRecorder(self.note, path):
            result = await effect()
        self.note(path, result)
        return result

    async def accept(self) -> None:
        """Record the answers that the current step received."""
        step = _POSITION.get().step
        if step in self._answers:
            self._settle(f"{step}.")
            await self._write_notes()

    def reject(self) -> None:
        """Leave the answers of the current step out of the record until it accepts one."""
        answers = self._answers.get(_POSITION.get().step)
        if answers is not None:
            answers.is_rejected = True

    def _settle(self, prefix: str) -> None:
        """Take the answers of the steps below a prefix to what is recorded next."""
        if self._answers:
            for step in [one for one in self._answers if f"{one}.".startswith(prefix)]:
                self._notes += self._answers.pop(step).notes

    async def _write_notes(self) -> None:
        if any(at != CODE for at, _ in self._notes):
            with self.taking() as take:
                *others, (at, value) = take()
                await self.engine.checkpoint(self.job, at, value, also=others)

    async def before(self) -> bool:
        """Record that something is about to be done; return False where it was done before.

        Raises:
            FencedError: somebody else has the job.
        """
        path = self.place()
        if self.is_known(path):
            return False
        with self.taking() as take:
            await self.engine.checkpoint(self.job, path, None, also=take())
        return True


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Name the steps inside by what they are in, so that they count for themselves."""
    before = _POSITION.get()
    _POSITION.set(_Position(before.recorded, f"{name}/"))
    try:
        yield
    finally:
        _POSITION.set(before)


def _step_of(path: str) -> str:
    return path.rpartition(".")[0]


# ---- what compiled code calls
def enter(step: str) -> None:
    """Say that a job has come to a step."""
    _POSITION.get().recorded.enter(step)


def enter_branch(name: str) -> None:
    """Say that this task is a branch of the step that its job is at."""
    at = _POSITION.get()
    _POSITION.set(_Position(at.recorded, f"{at.step}.{name}/"))
