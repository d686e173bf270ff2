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


@dataclass(frozen=True, slots=True)
class _Work:
    """A task or a trigger; `see` gives what its function sees of what has happened."""

    function: Function
    code: str
    retry: Retry
    timeout_seconds: float
    see: Callable[[str], Seen]


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
            ) for one in (*data["triggers"], *data["tasks"])
        }  # fmt: skip
        triggers = Triggers(
            Trigger(one["name"], one["events"], _where(one["where"], self._works[one["name"]].see))
            for one in data["triggers"]
        )
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


def _where(
    packed: Mapping[str, Any] | None, see: Callable[[str], Seen]
) -> Callable[[str], bool] | None:
    """Return what says of a job's payload whether its trigger's condition holds."""
    if packed is None:
        return None
    holds = link_condition(packed)

    def where(payload: str) -> bool:
        seen = see(payload)
        return bool(holds(*seen.trigger.values()) if seen.trigger else holds(seen.event))

    return where


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
