"""Make what runs outside of requests of an artifact: for the process that does work."""

from __future__ import annotations

import asyncio
import json
import marshal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from bbops.runtime.flow.caching import Cache
from bbops.runtime.flow.run import Answer, Function, Run, given_to
from bbops.runtime.http.in_flight import ActiveRequest
from bbops.runtime.linking.agents import link_agent
from bbops.runtime.linking.functions import FunctionParts, link_condition, resolve
from bbops.runtime.linking.release import Release, mark_files, statements_of
from bbops.runtime.values.failures import NOTHING, BadValue, JobFailure, PayloadFailure
from bbops.runtime.values.filters.maps import write_json
from bbops.runtime.work.durable import durable_host
from bbops.runtime.work.jobs import JOB_PREFIX
from bbops.runtime.work.results import MAX_RESULT_BYTES, TOO_LARGE
from bbops.runtime.work.rows import OPERATIONS, ReadRows, row_event
from bbops.runtime.work.run_record import RunRecord
from bbops.runtime.work.schedules import ScheduledTask, ScheduledTasks, read_schedule
from bbops.runtime.work.sent_webhooks import FAN_OUT, RETRY, WEBHOOKS, DeliverySender, fan_out
from bbops.runtime.work.signatures import UNREADABLE
from bbops.runtime.work.triggers import EventTrigger, KeyOf, KeyWindow, Triggers, lane_of
from bbops.runtime.work.values import (
    DEEP,
    JOB_DEAD,
    MAX_DEPTH,
    NORMAL,
    REMOVED_SUFFIX,
    TASK_MISSED,
    TOO_DEEP,
    HeldError,
    NewJob,
    RetryPolicy,
)
from bbops.runtime.work.worker import WorkPlan

MAX_REPORTED: Final = 1_000
"""The most receivers with problems that a release logs."""


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
    retry: RetryPolicy
    timeout_seconds: float
    see: Callable[[str], Seen]
    where: Callable[..., Any] | None = None
    lane: KeyOf | None = None
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
            parts = FunctionParts.make(each, release.answering.wording.say)
            function, space = parts.link()
            functions[function.name] = function
            self._linked[function.name] = _Linked(space, parts.calls, parts.starts)
        for agent in data["agents"]:
            function = link_agent(agent, functions, release.answering.mask)
            functions[function.name] = function
            tools = {tool["function"]: tool["function"] for tool in agent["tools"]}
            self._linked[function.name] = _Linked({}, tools, {})
        mark_files(functions, {name: each.calls.values() for name, each in self._linked.items()})
        for one in self._linked.values():
            for local, callee in {**one.calls, **one.starts}.items():
                one.space[local] = functions[callee]
            release.spaces.append(one.space)
        self._release, host = release, release.answering.host
        self._sender = (
            DeliverySender(host.database, host.http) if host.http and host.sends else None
        )
        self._reported = set[tuple[str, str, str]]()
        waiting = [*data["triggers"], *data["on_dead"]]
        works = [*waiting, *data["tasks"], *data["functions"], *data["turns"]]
        self._works = {one["name"]: _work(one, functions[one["function"]]) for one in works}
        self._works |= {old: self._works[new] for old, new in _renamed(works).items()}
        triggers = Triggers(_trigger(one, self._works[one["name"]]) for one in waiting)
        self.tasks = ScheduledTasks({
            one["name"]: ScheduledTask(
                read_schedule(one), one["overlap"], one["jitter_ms"],
            ) for one in data["tasks"]
        })  # fmt: skip
        self.hears_dead = frozenset(
            name for one in waiting if JOB_DEAD in one["events"]
            for name in (one["name"], one["renamed_from"]) if name
        )  # fmt: skip
        """What runs when a job is dead."""
        self.hears_missed = any(TASK_MISSED in one["events"] for one in waiting)
        """Whether something runs when a task did not."""
        self.renamed = _renamed(data["tasks"])
        """Names of tasks by those that they had before."""
        self.kept_rows = {table: lasts for table, (lasts, _) in data["rows"].items()}
        """Tables whose changes topics show, and for how many seconds they are kept."""
        self.keeps = {
            row_event(table, one): frozenset(columns)
            for table, (_, columns) in data["rows"].items() for one in OPERATIONS
        }  # fmt: skip
        """The columns of those changes, by their names in the log."""
        self.hears_rows = any(one["columns"] is not None for one in data["triggers"])
        """Whether changed rows run something."""
        self.plan = WorkPlan(triggers.route, self.run, self.tasks.due, self._retry, self._arrange)

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

    def _retry(self, work: str) -> RetryPolicy:
        if work.startswith(WEBHOOKS) and not work.endswith(FAN_OUT):
            return RETRY
        return self._works[work].retry if work in self._works else RetryPolicy()

    def _arrange(self, job: NewJob) -> NewJob:
        """Return a job with the priority and the lane of its work."""
        work = self._works.get(job.work)
        if work is None:
            return job
        lane = lane_of(job.work, work.lane, job.payload) or job.lane
        return replace(job, lane=lane, seats=work.seats, priority=work.priority)

    def _report_receiver(self, webhook: str, receiver: str, problem: str) -> None:
        """Log the problem of a receiver's row, once for each release."""
        line = webhook, receiver, problem
        if line not in self._reported and len(self._reported) < MAX_REPORTED:
            self._reported.add(line)
            message = f"receiver '{receiver}' of webhook '{webhook}' misses events: {problem}"
            self._release.answering.host.log.write("warn", message, {})

    async def _sends(self, recorded: RunRecord) -> bool:
        """Do what a job of a webhook does; return whether it is one."""
        name = recorded.job.work.removeprefix(WEBHOOKS)
        webhook = self._release.sent.get(name.removesuffix(FAN_OUT))
        if webhook is None or name == recorded.job.work or self._sender is None:
            return False
        if name.endswith(FAN_OUT):
            report = partial(self._report_receiver, webhook.name)
            await fan_out(webhook, recorded, self._sender.database, report)
        else:
            await self._sender.deliver(webhook, recorded)
        return True

    async def run(self, recorded: RunRecord) -> str | None:
        """Run the function of a job; return what it returned as JSON, where that is kept.

        Raises:
            HeldError: it cannot go on by itself.
            Failure: the attempt failed.
        """
        job = recorded.job
        if await self._sends(recorded):
            return None
        work = self._works.get(job.work)
        if work is None:
            name = job.work.removeprefix(JOB_PREFIX)
            gone = (
                f"the project has no '{name}'" if name == job.work else f"nothing enqueues '{name}'"
            )
            raise HeldError(f"{gone}{REMOVED_SUFFIX}")
        if job.cause.depth > MAX_DEPTH:
            raise HeldError(f"{TOO_DEEP} [{DEEP}]")
        seen = work.see(job.payload)
        given = None if seen.input is None else _given(work.function, seen.input)
        recorded.begin(work.code)
        await recorded.listen(work.hears)
        run = self._release.answering.run()
        run.host, run.cache, run.vars = durable_host(run.host, recorded), Cache(), {}
        if work.where is not None and not seen.asks(work.where):
            return None  # it was made of a condition that failed, or has another one by now
        run.event, run.trigger = seen.event, seen.trigger
        if "job" in work.function.needs:
            run.job = {"id": job.uid, "attempt": job.attempt, "key": job.key}
        if given is not None:
            run.input, run.params, run.query = given
        active = ActiveRequest()  # the release ends after its jobs, too
        active.answering, active.task = self._release.answering, asyncio.current_task()
        active.timeout_seconds = float("inf")
        self._release.active_requests.current.add(active)
        if work.function.has_files and run.host.files is not None:
            run.folder = run.host.files.open()
        try:
            value = (await _in_time(work, run))[1]
        finally:
            self._release.active_requests.remove(active)
            if run.folder is not None:
                run.folder.remove()
        return _kept(value) if work.keeps_result else None


def _renamed(works: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return names of work by those that it had before, under which it has jobs."""
    return {old: one["name"] for one in works if (old := one.get("renamed_from"))}


def _kept(value: Any) -> str:
    """Return what a function returned as JSON.

    Raises:
        JobFailure: it is too large to be kept.
    """
    data = write_json(None if value is NOTHING else value)
    if len(data) > MAX_RESULT_BYTES:
        message = f"what the function returns is larger than {MAX_RESULT_BYTES:,} bytes"
        raise JobFailure(TOO_LARGE, message)
    return data


async def _in_time(work: _Work, run: Run) -> Answer:
    limit = asyncio.timeout(work.timeout_seconds)
    try:
        async with limit:
            return await work.function.flow(run)
    except TimeoutError:
        if not limit.expired():
            raise
        message = f"it took longer than {work.timeout_seconds:g} s"
        raise JobFailure("jobTimeout", message) from None


def _work(data: Mapping[str, Any], function: Function) -> _Work:
    is_enqueued = data["name"].startswith(JOB_PREFIX) and "of" not in data
    see = _see_input if is_enqueued or data.get("is_turn") else _see(function, data)
    lane = data.get("lane")
    if data.get("is_turn"):
        lane_key: KeyOf | None = _read_chat
    else:
        lane_key = _key_of(lane, see)
    return _Work(
        function, data["code"], RetryPolicy(**data["retry"] or {}), data["timeout_seconds"], see,
        link_condition(data["where"]) if data.get("where") else None, lane_key,
        lane["seats"] if lane else 1, data["priority"], is_enqueued, data["hears"],
    )  # fmt: skip


def _key_of(key: Mapping[str, Any] | None, see: Callable[[str], Seen]) -> KeyOf | None:
    """Return what gives a key of a job's payload; None without one."""
    if key is None:
        return None
    found = link_condition(key)
    return lambda payload: see(payload).asks(found)


def _keyed(data: Mapping[str, Any] | None, work: _Work) -> KeyWindow | None:
    key_of = _key_of(data, work.see)
    return None if data is None or key_of is None else KeyWindow(key_of, data["for_ms"])


def _see(function: Function, data: Mapping[str, Any]) -> Callable[[str], Seen]:
    """Return what reads `event` or `trigger` out of a job's payload; a task's sees its input."""
    columns, given = data.get("columns"), data.get("input")
    if given is not None:
        return lambda _: Seen(input=given)
    if columns is None:
        return lambda payload: Seen(event=_event(function, payload))
    read = ReadRows({name: resolve(how) if how else None for name, how in columns.items()})
    return lambda payload: Seen(trigger=read(payload))


def _read_chat(payload: str) -> object:
    """Return the chat of a turn: its turns take turns."""
    return json.loads(payload)["input"]["chat"]


def _see_input(payload: str) -> Seen:
    """Return what the function of a job of `enqueue` sees."""
    return Seen(input=json.loads(payload)["input"] or {})


def _trigger(data: Mapping[str, Any], work: _Work) -> EventTrigger:
    return EventTrigger(
        data["name"], data["events"], _where(data, work), work.lane, work.seats, work.priority,
        _keyed(data.get("unique"), work), _keyed(data.get("debounce"), work),
        data["renamed_from"],
    )  # fmt: skip


def _where(data: Mapping[str, Any], work: _Work) -> Callable[[str], bool] | None:
    """Return the condition of a trigger, or of what runs when a job of some work is dead."""
    of, where = data.get("of"), work.where
    if of is not None:
        return lambda payload: json.loads(payload)["payload"]["work"] in of
    return (lambda payload: bool(work.see(payload).asks(where))) if where else None


def _given(function: Function, payload: Any) -> list[Any]:
    """Return a function's arguments for a job's input. Raises: PayloadFailure: it does not fit."""
    try:
        return given_to(function, payload)
    except BadValue as error:
        raise PayloadFailure(error.message) from None


def _event(function: Function, payload: str) -> Any:
    """Return what a trigger's function sees of its event.

    Raises:
        PayloadFailure: the payload does not fit what the function declares.
    """
    event = json.loads(payload)
    given = event.get("payload")
    if type(given) is dict and UNREADABLE in given:
        raise PayloadFailure(str(given[UNREADABLE]))
    if function.payload is None or "payload" not in event:
        return event or None
    errors = dict[str, list[str]]()
    typed = function.payload(event["payload"] or {}, "", errors)
    if errors:
        wrong = "; ".join(
            f"'{path}' {texts[0]}" if path else f"it {texts[0]}" for path, texts in errors.items()
        )
        raise PayloadFailure(f"the payload does not fit function '{function.name}': {wrong}")
    return {**event, "payload": typed}


def link_work(artifact: bytes, release: Release) -> Work:
    """Return the work of a release that was linked from the same artifact."""
    data = marshal.loads(artifact)["work"]  # noqa: S302 - our own file
    return Work(release, data or _NOTHING)


_NOTHING: Final[Mapping[str, Any]] = {
    "rows": {},
    "code": (),
    "triggers": (),
    "on_dead": (),
    "agents": (),
    "turns": (),
    "tasks": (),
    "functions": (),
}
