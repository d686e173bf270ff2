"""Tasks, triggers and the functions of their jobs, compiled."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bbops.base.names import env_name
from bbops.compiler.check import CheckedProject
from bbops.compiler.check._ways import called
from bbops.compiler.check.tasks import constant_of
from bbops.compiler.check.triggers import find_input, find_outside
from bbops.compiler.compile.agents import (
    TURN_RETRY,
    agent_code,
    agent_tasks,
    agent_triggers,
    agent_webhooks,
    compile_agents,
    enabled_agents,
    old_work,
    start_events,
    turn_work,
)
from bbops.compiler.compile.conditions import compile_keyed, compile_lane, compile_where
from bbops.compiler.compile.function import compile_function, pack_value
from bbops.compiler.compile.row_events import read_columns, shown_columns, topic_columns
from bbops.compiler.compile.sent_webhooks import compile_sent_webhooks
from bbops.language.project import OnDead, Project, Resource
from bbops.language.resources._job import Job, Retry
from bbops.language.resources.task import Task
from bbops.language.resources.trigger import Trigger
from bbops.language.sql.dialect import Dialect
from bbops.language.steps.emit import Emit
from bbops.runtime.agents.values import DECISION, function_name, work_name
from bbops.runtime.data.statements import Statement
from bbops.runtime.values.units import seconds
from bbops.runtime.work.jobs import JOB_PREFIX
from bbops.runtime.work.rows import row_event
from bbops.runtime.work.values import HIGH, JOB_DEAD, LOW, NORMAL
from bbops.runtime.work.webhooks import webhook_event

LONGEST_SECONDS: Final = 900.0
"""How long an attempt of a job may take that does not say `timeout`."""

_PRIORITIES: Final = {"high": HIGH, "normal": NORMAL, "low": LOW}

Work = dict[str, Any]


def compile_work(
    project: CheckedProject, dialect: Dialect, pack: Callable[[str], bytes]
) -> Work | None:
    """Return what jobs run: tasks, triggers, and functions; None without anything to do.

    Args:
        project: checked without mistakes.
        dialect: of the database that it will run on.
        pack: returns a function as jobs run it, compiled and packed.
    """
    durable = {name: pack(name) for name in _find_functions(project)}
    kept, agents = kept_rows(project), [*enabled_agents(project)]
    if (
        not durable
        and not agents
        and not project.webhooks
        and not any(_emits(project))
        and not kept
    ):
        return None
    digest = _digests(durable)
    runs = compile_agents(project, dialect, digest)
    codes = {function_name(run["name"]): run["code"] for run in runs}

    def code_of(function: str) -> str:
        return codes.get(function) or digest(function)

    triggers = [
        (f"triggers/{name}", trigger) for name, trigger in sorted(project.triggers.items())
        if trigger.model.enabled
    ]  # fmt: skip
    triggers += [(start.name, start) for start in agent_triggers(project)]
    tasks = [
        (f"tasks/{name}", task) for name, task in sorted(project.tasks.items())
        if task.model.enabled
    ]  # fmt: skip
    tasks += [(start.name, start) for start in agent_tasks(project)]
    return {
        "rows": kept,
        "code": [durable[name] for name in sorted(durable)],
        "triggers": [
            {
                "name": name, "events": _events(one),
                "columns": _columns(project, one, dialect),
                "where": compile_where(project, one, dialect),
                "lane": compile_lane(find_outside(project, one), one.model.lane, dialect),
                "unique": compile_keyed(find_outside(project, one), one.model.unique, dialect),
                "debounce": compile_keyed(find_outside(project, one), one.model.debounce, dialect),
                "renamed_from": _old_work(project, one),
                "priority": _PRIORITIES[one.model.priority],
                "function": one.model.function, "code": code_of(one.model.function),
                "retry": _retry(one.model.retry), "timeout_seconds": _timeout(one.model.timeout),
                "hears": _hears(project, one.model.function),
            } for name, one in triggers
        ],
        "on_dead": [_on_dead(project, one, digest) for one in project.on_dead],
        "tasks": [
            {
                **compile_schedule(name, one.model), "input": constant_of(one.model.input),
                "renamed_from": _old_work(project, one),
                "function": one.model.function, "code": code_of(one.model.function),
                "priority": _PRIORITIES[one.model.priority],
                "retry": _retry(one.model.retry),
                "timeout_seconds": _timeout(one.model.timeout),
                "hears": _hears(project, one.model.function),
            } for name, one in tasks
        ],
        "sent": compile_sent_webhooks(project, dialect),
        "agents": runs,
        "turns": [
            {
                **turn_work(agent), "code": code_of(function_name(agent.name)),
                "priority": _PRIORITIES[agent.model.priority],
                "retry": _retry(agent.model.retry) or TURN_RETRY,
                "timeout_seconds": _timeout(agent.model.limits.timeout),
                "hears": _hears(project, function_name(agent.name)),
            } for agent in agents if agent.model.runs_on.chat is not None
        ],
        "functions": [
            _enqueued(project, name, dialect) | {"code": digest(name)}
            for name in sorted(project.started)
        ],
    }  # fmt: skip


def kept_rows(project: Project) -> dict[str, tuple[float, list[str]]]:
    """Return the tables whose changes topics show: for how many seconds, and which columns."""
    lasts, columns = dict[str, float](), dict[str, set[str]]()
    for one in project.realtime.values():
        rows, history = one.model.rows, one.model.history
        if rows is not None:
            length = seconds(history.for_) if history else 0.0
            lasts[rows.table] = max(length, lasts.get(rows.table, 0.0))
            columns.setdefault(rows.table, set()).update(topic_columns(project, rows))
    return {table: (lasts[table], sorted(columns[table])) for table in sorted(lasts)}


@dataclass(frozen=True, slots=True)
class WorkCode:
    """What jobs of a function run: with all that it calls.

    Attributes:
        digest: names it; a job goes on with what it began with.
        statements: the SQL that it may run.
    """

    digest: str
    statements: tuple[str, ...]


def read_code(project: CheckedProject, work: Resource[Any], dialect: Dialect) -> WorkCode:
    """Return the code of a work, without a release.

    Args:
        project: the project of the work.
        work: a function, a task, a trigger or an agent.
        dialect: the dialect of the database.
    """
    functions = functions_of(work)
    wanted, durable, statements = [*functions], dict[str, bytes](), dict[str, None]()
    while wanted:
        name = wanted.pop()
        if name not in durable:
            checked = project.flows.of(name)
            code = compile_function(project, name, checked, dialect, is_durable=True)
            durable[name] = pack_value(code)
            statements |= dict.fromkeys(_statements(code))
            wanted += code["calls"].values()
    digest = _digests(durable)
    if work.kind == "agent":
        return WorkCode(agent_code(project, work, digest), tuple(statements))
    return WorkCode(digest(functions[0]), tuple(statements))


def functions_of(work: Resource[Any]) -> tuple[str, ...]:
    """Return the functions that jobs run, without those that they call; for an agent, its tools."""
    if work.kind == "agent":
        return tuple(work.model.tool_names)
    return (work.name if work.kind == "function" else str(work.model.function),)


def _statements(code: Mapping[str, Any]) -> Iterator[str]:
    for factory, arguments in code["constants"].values():
        if factory == _STATEMENT:
            yield from Statement(*arguments).samples()


_STATEMENT: Final = f"{Statement.__module__}:{Statement.__name__}"


def find_works(project: CheckedProject) -> Mapping[str, Resource[Any]]:
    """Return what has jobs, by the name that they know it by, such as `triggers/order-paid`."""
    functions = {f"{JOB_PREFIX}{name}": project.functions[name] for name in project.started}
    agents = {
        work_name(agent.name, start): agent for agent in enabled_agents(project)
        for start in agent.model.runs_on.starts
    }  # fmt: skip
    return {f"{one.kind}s/{one.name}": one for one in _every(project)} | functions | agents


def _enqueued(project: CheckedProject, name: str, dialect: Dialect) -> Work:
    """Return how the jobs of a function run that a step enqueues."""
    function = project.functions[name]
    job = function.model.job or Job()
    return {
        "name": f"{JOB_PREFIX}{name}", "function": name,
        "lane": compile_lane(find_input(function), job.lane, dialect),
        "priority": _PRIORITIES[job.priority],
        "retry": _retry(job.retry), "timeout_seconds": _timeout(job.timeout),
        "hears": _hears(project, name),
    }  # fmt: skip


def _find_functions(project: CheckedProject) -> list[str]:
    """Return the functions that jobs run, and those that they call, at any depth."""
    wanted = [one.model.function for one in _every(project)]
    wanted += [one.function for one in project.on_dead]
    wanted += [tool for agent in enabled_agents(project) for tool in agent.model.tool_names]
    return called(project, [*wanted, *project.started])


def _hears(project: CheckedProject, function: str) -> list[str]:
    """Return the events that a function may wait for, itself or in what it calls."""
    if function.startswith(function_name("")):
        return [DECISION]
    steps = (
        step for name in called(project, [function])
        for step in project.functions[name].model.every_step
    )  # fmt: skip
    return sorted({event for step in steps if (event := step.hears())})


def _on_dead(project: CheckedProject, one: OnDead, digest: Callable[[str], str]) -> Work:
    """Return what runs when a job of some work is dead: as a trigger of its own."""
    names = [name for name in (one.work, one.renamed_from) if name]
    return {
        "name": f"{one.work}:dead", "of": names, "events": [JOB_DEAD], "function": one.function,
        "renamed_from": f"{one.renamed_from}:dead" if one.renamed_from else "",
        "code": digest(one.function), "priority": NORMAL, "retry": None,
        "timeout_seconds": LONGEST_SECONDS, "hears": _hears(project, one.function),
    }  # fmt: skip


def _old_work(project: CheckedProject, one: Resource[Any]) -> str:
    """Return the name of its work before it was renamed; empty if it never was."""
    if one.kind == "agent":
        return old_work(project, one)
    old = one.model.renamed_from
    return f"{one.kind}s/{old}" if old else ""


def _every(project: CheckedProject) -> Iterator[Any]:
    yield from (one for one in project.tasks.values() if one.model.enabled)
    yield from (one for one in project.triggers.values() if one.model.enabled)


def compile_webhooks(project: Project) -> Iterator[dict[str, Any]]:
    """Yield where other services start triggers, and how they sign."""
    found = [
        (name, one.model.webhook) for name, one in sorted(project.triggers.items())
        if one.model.webhook is not None and one.model.enabled
    ]  # fmt: skip
    for name, webhook in [*found, *agent_webhooks(project)]:
        signature = webhook.signature
        yield {
                "name": name, "path": webhook.path, "scheme": signature.scheme,
                "header": signature.header or "",
                "secrets": [
                    (env_name(one), one) for one in (*signature.secret, *signature.public_key)
                ],
                "tolerance_seconds": seconds(signature.tolerance),
                "id": webhook.id.model_dump() if webhook.id else None,
            }  # fmt: skip


def _events(one: Resource[Trigger]) -> list[str]:
    """Return what a trigger waits for, as it is in the outbox."""
    trigger = one.model
    if trigger.webhook is not None and one.kind == "agent":
        return start_events(one)
    if trigger.webhook is not None:
        return [webhook_event(name) for name in (one.name, trigger.renamed_from) if name]
    rows = trigger.database
    if rows is None:
        return [*(trigger.event or ())]
    return [row_event(rows.table, one) for one in rows.operation]


def _columns(
    project: CheckedProject, trigger: Resource[Trigger], dialect: Dialect
) -> dict[str, str] | None:
    """Return the columns of rows that a trigger reads, with what decodes them; "" for nothing."""
    rows = trigger.model.database
    if rows is None:
        return None
    decoders, is_agent = dialect.json_decoders, trigger.kind == "agent"
    columns = (
        shown_columns(project, rows) if is_agent else read_columns(project, trigger, rows)
    )  # fmt: skip
    return {
        name: f"{dialect.rows}:{decoders[column.type]}" if column.type in decoders else ""
        for name, column in columns.items()
    }


def _emits(project: CheckedProject) -> Iterator[bool]:
    for function in project.functions.values():
        yield any(isinstance(step, Emit) for step in function.model.every_step)


def _timeout(given: str | None) -> float:
    return seconds(given) if given else LONGEST_SECONDS


def _retry(retry: Retry | None) -> dict[str, Any] | None:
    """Return how often a trigger is tried; None where it does not say so."""
    if retry is None:
        return None
    pause = seconds(retry.backoff)
    return {"attempts": retry.attempts, "first_seconds": pause, "factor": retry.factor}


def _digests(durable: dict[str, bytes]) -> Callable[[str], str]:
    """Return what names the code of a function, with all that it calls."""

    def digest(name: str) -> str:
        found, wanted = dict[str, bytes](), [name]
        while wanted:
            one = wanted.pop()
            if one not in found:
                found[one] = durable[one]
                wanted += marshal.loads(durable[one])["calls"].values()  # noqa: S302 - our own
        parts = (found[one] for one in sorted(found))
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]

    return digest


def compile_schedule(work: str, task: Task) -> dict[str, Any]:
    """Return when a task runs, as `bbops.runtime.work.schedules` reads it."""
    return {
        "name": work, "cron": task.schedule or "", "timezone": task.timezone,
        "every_ms": round(1000 * seconds(task.every)) if task.every else 0,
        "missed": task.missed, "overlap": task.overlap,
        "jitter_ms": round(1000 * seconds(task.jitter)) if task.jitter else 0,
    }  # fmt: skip
