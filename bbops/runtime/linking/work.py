"""Make what runs outside of requests of an artifact: for the process that does work."""

from __future__ import annotations

import asyncio
import json
import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bbops.runtime.flow.caching import Cache
from bbops.runtime.flow.run import Answer, Function, Run, given_to
from bbops.runtime.http.in_flight import ActiveRequest
from bbops.runtime.linking.release import (
    Release,
    link_condition,
    link_function,
    resolve,
    statements_of,
)
from bbops.runtime.values.failures import NOTHING, FlowError
from bbops.runtime.values.filters.maps import write_json
from bbops.runtime.work.durable import durable
from bbops.runtime.work.jobs import WORK
from bbops.runtime.work.own_events import JOB_DEAD
from bbops.runtime.work.recorded import Recorded
from bbops.runtime.work.results import MOST_BYTES
from bbops.runtime.work.retry import Retry
from bbops.runtime.work.row_triggers import ReadRows
from bbops.runtime.work.schedules import Schedule
from bbops.runtime.work.tasks import Task, Tasks
from bbops.runtime.work.triggers import Trigger, Triggers, lane_of
from bbops.runtime.work.values import MOST_DEPTH, NORMAL, TOO_DEEP, HeldError, NewJob
from bbops.runtime.work.worker import Plan


@dataclass(frozen=True, slots=True)
class Seen:
    """What a function sees of what has happened."""

    event: Any = None
    trigger: Mapping[str, Any] | None = None
    input: Any = None

    def asks(self, function: Callable[..., Any]) -> Any:
        """Return what a condition, or the key of a lane, gives of it."""
        if self.trigger is not None:
            return function(*self.trigger.values())
        return function(self.event if self.input is None else self.input)


@dataclass(frozen=True, slots=True)
class _Linked:
    """A function's name space, and the functions that it names by their local names."""

    space: dict[str, Any]
    calls: Mapping[str, str]
    starts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Work:
    """A task or a trigger.

    Attributes:
        see: gives what its function sees of what has happened, of a job's payload.
        where: its condition, a function of that; None without one.
        lane: gives the key of its lane, of a job's payload; None without one.
        keeps_result: who has enqueued it may ask what it returned.
        hears: the events that its function may wait for.
    """

    function: Function
    code: str
    retry: Retry
    timeout_seconds: float
    see: Callable[[str], Seen]
    where: Callable[..., Any] | None = None
    lane: Callable[[str], object] | None = None
    seats: int = 1
    priority: int = NORMAL
    keeps_result: bool = False
    hears: Sequence[str] = ()


class Work:
    """The work of a release."""

    def __init__(self, release: Release, data: Mapping[str, Any]) -> None:
        """Link the functions. Their name spaces are freed with the release."""
        functions = dict[str, Function]()
        self._linked = dict[str, _Linked]()
        for packed in data["code"]:
            each = marshal.loads(packed)  # noqa: S302 - a part of our own artifact
            name = each["name"]
            functions[name], space = link_function(each, release.answering.wording.say)
            self._linked[name] = _Linked(space, each["calls"], each["starts"])
        for one in self._linked.values():
            for local, callee in {**one.calls, **one.starts}.items():
                one.space[local] = functions[callee]
            release.spaces.append(one.space)
        self._release = release
        works = [*data["triggers"], *data["tasks"], *data["functions"]]
        self._works = {one["name"]: _work(one, functions[one["function"]]) for one in works}
        triggers = Triggers(_trigger(one, self._works[one["name"]]) for one in data["triggers"])
        self.tasks = Tasks({
            one["name"]: Task(
                Schedule(one["cron"], one["timezone"], one["every_ms"], one["missed"]),
                one["overlap"],
            ) for one in data["tasks"]
        })  # fmt: skip
        self.hears_dead = frozenset(
            one["name"] for one in data["triggers"] if JOB_DEAD in one["events"]
        )
        """Triggers that run when a job is dead."""
        self.hears_rows = any(one["columns"] is not None for one in data["triggers"])
        """Whether changed rows run something."""
        self.plan = Plan(triggers.route, self.run, self.tasks.due, self._retry, self._arrange)

    @property
    def codes(self) -> Mapping[str, str]:
        """The digest of what each work runs: its function, and the functions that this calls."""
        return {name: one.code for name, one in self._works.items()}

    def statements(self, work: str) -> Iterator[str]:
        """Yield the SQL that a work may run."""
        wanted, found = [self._works[work].function.name], set[str]()
        while wanted:
            name = wanted.pop()
            if name not in found:
                found.add(name)
                wanted += self._linked[name].calls.values()
                yield from statements_of(self._linked[name].space)

    def _retry(self, work: str) -> Retry:
        return self._works[work].retry if work in self._works else Retry()

    def _arrange(self, job: NewJob) -> NewJob:
        """Give a job that somebody made the lane and the priority of its work."""
        work = self._works.get(job.work)
        if work is None:
            return job
        lane = lane_of(job.work, work.lane, job.payload)
        return replace(job, lane=lane, seats=work.seats, priority=work.priority)

    async def run(self, recorded: Recorded) -> str | None:
        """Run the function of a job; return what it returned as JSON, where that is kept.

        Raises:
            HeldError: it cannot go on by itself.
            Failure: the attempt failed.
        """
        job = recorded.job
        work = self._works.get(job.work)
        if work is None:
            name = job.work.removeprefix(WORK)
            gone = (
                f"the project has no '{name}'" if name == job.work else f"nothing enqueues '{name}'"
            )
            raise HeldError(f"{gone} any more")
        if job.cause.depth > MOST_DEPTH:
            raise HeldError(TOO_DEEP)
        recorded.begin(work.code)
        await recorded.listen(work.hears)
        run = self._release.answering.run()
        run.host, run.cache, run.vars = durable(run.host, recorded), Cache(), {}
        seen = work.see(job.payload)
        if work.where is not None and not seen.asks(work.where):
            return None  # it was made of a condition that failed, or has another one by now
        run.event, run.trigger = seen.event, seen.trigger
        if job.work.startswith(WORK):
            run.input, run.params, run.query = given_to(work.function, seen.input)
        active = ActiveRequest()  # the release ends after its jobs, too
        active.answering, active.task = self._release.answering, asyncio.current_task()
        active.timeout_seconds = float("inf")
        self._release.active_requests.current.add(active)
        try:
            value = (await _in_time(work, run))[1]
        finally:
            self._release.active_requests.remove(active)
        return _kept(value) if work.keeps_result else None


def _kept(value: Any) -> str:
    """Return what a function returned as JSON.

    Raises:
        FlowError: it is too large to be kept.
    """
    data = write_json(None if value is NOTHING else value)
    if len(data) > MOST_BYTES:
        raise FlowError(f"what the function returns is larger than {MOST_BYTES:,} bytes")
    return data


async def _in_time(work: _Work, run: Run) -> Answer:
    limit = asyncio.timeout(work.timeout_seconds)
    try:
        async with limit:
            return await work.function.flow(run)
    except TimeoutError:
        if not limit.expired():
            raise
        raise FlowError(f"it took longer than {work.timeout_seconds:g} s") from None


def _work(data: Mapping[str, Any], function: Function) -> _Work:
    is_enqueued = data["name"].startswith(WORK)
    see = _see_input if is_enqueued else _see(function, data.get("columns"))
    lane, key = data.get("lane"), None
    if lane:
        found = link_condition(lane)

        def key(payload: str) -> object:
            return see(payload).asks(found)

    return _Work(
        function, data["code"], Retry(**data["retry"] or {}), data["timeout_seconds"], see,
        link_condition(data["where"]) if data.get("where") else None, key,
        lane["seats"] if lane else 1, data["priority"], is_enqueued, data["hears"],
    )  # fmt: skip


def _see(function: Function, columns: Mapping[str, str] | None) -> Callable[[str], Seen]:
    """Return what reads `event` or `trigger` out of a job's payload; a task's sees nothing."""
    if columns is None:
        return lambda payload: Seen(event=_event(function, payload))
    read = ReadRows({name: resolve(how) if how else None for name, how in columns.items()})
    return lambda payload: Seen(trigger=read(payload))


def _see_input(payload: str) -> Seen:
    """Return what the function of a job of `enqueue` sees."""
    return Seen(input=json.loads(payload)["input"] or {})


def _trigger(data: Mapping[str, Any], work: _Work) -> Trigger:
    where = work.where
    return Trigger(
        data["name"], data["events"],
        (lambda payload: bool(work.see(payload).asks(where))) if where else None,
        work.lane, work.seats, work.priority,
    )  # fmt: skip


def _event(function: Function, payload: str) -> Any:
    """Return what a trigger's function sees of its event.

    Raises:
        FlowError: the payload does not fit what the function declares.
    """
    event = json.loads(payload)
    if function.payload is None or "payload" not in event:
        return event or None
    errors = dict[str, list[str]]()
    typed = function.payload(event["payload"] or {}, "", errors)
    if errors:
        wrong = "; ".join(f"'{path}' {texts[0]}" for path, texts in errors.items())
        raise FlowError(f"the payload does not fit function '{function.name}': {wrong}")
    return {**event, "payload": typed}


def link_work(artifact: bytes, release: Release) -> Work:
    """Return the work of a release that was linked from the same artifact."""
    data = marshal.loads(artifact)["work"]  # noqa: S302 - our own file
    return Work(release, data or _NOTHING)


_NOTHING: Final[Mapping[str, Any]] = {"code": (), "triggers": (), "tasks": (), "functions": ()}
