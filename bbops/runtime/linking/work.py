"""Make what runs outside of requests of an artifact: for the process that does work."""

from __future__ import annotations

import asyncio
import json
import marshal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bbops.runtime.flow.caching import Cache
from bbops.runtime.flow.run import Function, Run
from bbops.runtime.http.in_flight import ActiveRequest
from bbops.runtime.linking.release import Release, link_condition, link_function, resolve
from bbops.runtime.values.failures import FlowError
from bbops.runtime.work.durable import durable
from bbops.runtime.work.recorded import Recorded
from bbops.runtime.work.retry import Retry
from bbops.runtime.work.row_triggers import ReadRows
from bbops.runtime.work.schedules import Schedule
from bbops.runtime.work.tasks import Task, Tasks
from bbops.runtime.work.triggers import Trigger, Triggers
from bbops.runtime.work.values import MOST_DEPTH, TOO_DEEP, HeldError
from bbops.runtime.work.worker import Plan


@dataclass(frozen=True, slots=True)
class Seen:
    """What a function sees of what has happened."""

    event: Any = None
    trigger: Mapping[str, Any] | None = None

    def asks(self, function: Callable[..., Any]) -> Any:
        """Return what a condition, or the key of a lane, gives of it."""
        return function(self.event) if self.trigger is None else function(*self.trigger.values())


@dataclass(frozen=True, slots=True)
class _Work:
    """A task or a trigger.

    Attributes:
        see: gives what its function sees of what has happened, of a job's payload.
        where: its condition, a function of that; None without one.
    """

    function: Function
    code: str
    retry: Retry
    timeout_seconds: float
    see: Callable[[str], Seen]
    where: Callable[..., Any] | None = None


class Work:
    """The work of a release."""

    def __init__(self, release: Release, data: Mapping[str, Any]) -> None:
        """Link the functions. Their name spaces are freed with the release."""
        functions, spaces = dict[str, Function](), list[tuple[Mapping[str, str], dict[str, Any]]]()
        for packed in data["functions"]:
            each = marshal.loads(packed)  # noqa: S302 - a part of our own artifact
            functions[each["name"]], space = link_function(each, release.answering.wording.say)
            spaces.append((each["calls"], space))
        for calls, space in spaces:
            for local, callee in calls.items():
                space[local] = functions[callee]
            release.spaces.append(space)
        self._release = release
        self._works = {
            one["name"]: _Work(
                functions[one["function"]], one["code"], Retry(**one["retry"] or {}),
                one["timeout_seconds"], _see(functions[one["function"]], one.get("columns")),
                one.get("where") and link_condition(one["where"]),
            ) for one in (*data["triggers"], *data["tasks"])
        }  # fmt: skip
        triggers = Triggers(_trigger(one, self._works[one["name"]]) for one in data["triggers"])
        self.tasks = Tasks({
            one["name"]: Task(
                Schedule(one["cron"], one["timezone"], one["every_ms"], one["missed"]),
                one["overlap"],
            ) for one in data["tasks"]
        })  # fmt: skip
        self.hears_rows = any(one["columns"] is not None for one in data["triggers"])
        """Whether changed rows run something."""
        self.plan = Plan(triggers.route, self.run, self.tasks.due, self._retry)

    def _retry(self, work: str) -> Retry:
        return self._works[work].retry if work in self._works else Retry()

    async def run(self, recorded: Recorded) -> None:
        """Run the function of a job.

        Raises:
            HeldError: it cannot go on by itself.
            Failure: the attempt failed.
        """
        job = recorded.job
        work = self._works.get(job.work)
        if work is None:
            raise HeldError(f"the project has no '{job.work}' any more")
        if job.cause.depth > MOST_DEPTH:
            raise HeldError(TOO_DEEP)
        recorded.begin(work.code)
        run = self._release.answering.run()
        run.host, run.cache, run.vars = durable(run.host, recorded), Cache(), {}
        seen = work.see(job.payload)
        if work.where is not None and not seen.asks(work.where):
            return  # it was made of a condition that failed, or has another one by now
        run.event, run.trigger = seen.event, seen.trigger
        active = ActiveRequest()  # the release ends after its jobs, too
        active.answering, active.task = self._release.answering, asyncio.current_task()
        active.timeout_seconds = float("inf")
        self._release.active_requests.current.add(active)
        try:
            await _in_time(work, run)
        finally:
            self._release.active_requests.remove(active)


async def _in_time(work: _Work, run: Run) -> None:
    limit = asyncio.timeout(work.timeout_seconds)
    try:
        async with limit:
            await work.function.flow(run)
    except TimeoutError:
        if not limit.expired():
            raise
        raise FlowError(f"it took longer than {work.timeout_seconds:g} s") from None


def _see(function: Function, columns: Mapping[str, str] | None) -> Callable[[str], Seen]:
    """Return what reads `event` or `trigger` out of a job's payload; a task's sees nothing."""
    if columns is None:
        return lambda payload: Seen(event=_event(function, payload))
    read = ReadRows({name: resolve(how) if how else None for name, how in columns.items()})
    return lambda payload: Seen(trigger=read(payload))


def _trigger(data: Mapping[str, Any], work: _Work) -> Trigger:
    where, lane = work.where, data["lane"]
    key = link_condition(lane) if lane else None
    return Trigger(
        data["name"], data["events"],
        (lambda payload: bool(work.see(payload).asks(where))) if where else None,
        (lambda payload: work.see(payload).asks(key)) if key else None,
        lane["seats"] if lane else 1, data["priority"],
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


def link_work(artifact: bytes, release: Release) -> Work | None:
    """Return the work of a release that was linked from the same artifact; None without any."""
    data = marshal.loads(artifact)["work"]  # noqa: S302 - our own file
    return None if data is None else Work(release, data)
