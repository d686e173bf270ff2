"""Compile agents: what starts their runs, and what a run needs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from bbops.base.model import plain
from bbops.compiler.check import CheckedProject
from bbops.compiler.check.agents import arguments_of, find_call
from bbops.compiler.compile.conditions import compile_condition
from bbops.language.addons._base import kind, spec_of
from bbops.language.json_schema import Schema, shape_schema
from bbops.language.project import Project, Resource
from bbops.language.resources._access import RateLimit
from bbops.language.resources.agent import Agent, AgentTool
from bbops.language.resources.task import Task
from bbops.language.resources.trigger import Trigger, Webhook
from bbops.language.shape import Shape, shape_spec
from bbops.language.sql.dialect import Dialect
from bbops.runtime.agents.values import LOOP_VERSION, STEPS, function_name, tool_name, work_name
from bbops.runtime.values.units import seconds
from bbops.runtime.work.values import OWN_EVENTS
from bbops.runtime.work.webhooks import AGENT_HOOK, message_event, webhook_event

PARTS: Final = ("input", "params", "query")
"""The shapes of a function whose fields are the arguments of a tool."""
_CODE_KEYS: Final = ("model", "instructions", "tools", "memory", "output", "limits")
"""The keys of an agent with which a run ends as it began."""

TURN_RETRY: Final = {"attempts": 3, "first_seconds": 1.0, "factor": 3.0}
"""The attempts of a turn whose agent has no `retry`: its user waits for the answer."""

Part = dict[str, Any]


def enabled_agents(project: Project) -> Iterator[Resource[Agent]]:
    """Yield the agents that run, by name."""
    yield from (agent for _, agent in sorted(project.agents.items()) if agent.model.enabled)


def agent_triggers(project: Project) -> Iterator[Resource[Trigger]]:
    """Yield the starts of agents that are like triggers, by the names of their works."""
    for agent in enabled_agents(project):
        model, runs_on = agent.model, agent.model.runs_on
        shared: dict[str, Any] = {
            "function": function_name(agent.name), "priority": model.priority,
            "retry": model.retry, "timeout": model.limits.timeout,
        }  # fmt: skip
        given: dict[str, dict[str, Any]] = {}
        if runs_on.database is not None:
            given["database"] = {"database": runs_on.database}
        if runs_on.event is not None:
            event = runs_on.event
            given["event"] = {
                "event": event.event, "where": event.where, "unique": event.unique,
                "debounce": event.debounce,
            }  # fmt: skip
        if runs_on.webhook is not None:
            given["webhook"] = {"webhook": runs_on.webhook}
        if runs_on.realtime is not None:
            topic = project.realtime[runs_on.realtime.topic].model
            names = [runs_on.realtime.event] if runs_on.realtime.event else [*topic.events]
            events = [message_event(runs_on.realtime.topic, name) for name in names]
            given["realtime"] = {"event": events, "where": runs_on.realtime.where}
        for start, keys in given.items():
            yield _start(agent, start, Trigger.model_construct(**shared, **keys))


def agent_tasks(project: Project) -> Iterator[Resource[Task]]:
    """Yield the schedules of agents, by the names of their works."""
    for agent in enabled_agents(project):
        given, model = agent.model.runs_on.schedule, agent.model
        if given is not None:
            task = Task.model_construct(
                schedule=given.schedule, every=given.every, timezone=given.timezone,
                overlap=given.overlap, missed=given.missed, jitter=given.jitter,
                function=function_name(agent.name), priority=model.priority,
                retry=model.retry, timeout=model.limits.timeout,
            )  # fmt: skip
            yield _start(agent, "schedule", task)


def _start(agent: Resource[Agent], start: str, model: Any) -> Resource[Any]:
    name = work_name(agent.name, start)
    return Resource("agent", name, agent.file, agent.blob, model, agent.document)


def start_events(start: Resource[Trigger]) -> list[str]:
    """Return the events of a webhook that starts an agent, as the outbox has them."""
    return [webhook_event(f"{AGENT_HOOK}{start.name.split('/')[1]}")]


def agent_webhooks(project: Project) -> Iterator[tuple[str, Webhook]]:
    """Yield the webhooks that start agents, each by the name that its deliveries have."""
    for agent in enabled_agents(project):
        if agent.model.runs_on.webhook is not None:
            yield f"{AGENT_HOOK}{agent.name}", agent.model.runs_on.webhook


def old_work(project: Project, start: Resource[Any]) -> str:
    """Return the name that the work of a start had before the agent was renamed."""
    _, agent, kind_ = start.name.split("/")
    old = project.agents[agent].model.renamed_from
    return work_name(old, kind_) if old else ""


def compile_agents(
    project: CheckedProject, dialect: Dialect, digest: Callable[[str], str]
) -> list[Part]:  # fmt: skip
    """Return the data of each agent for the worker.

    Args:
        project: checked without mistakes.
        dialect: the dialect of the database.
        digest: returns the digest of a function with its callees.
    """
    return [_agent(project, agent, dialect, digest) for agent in enabled_agents(project)]


def _agent(
    project: CheckedProject, agent: Resource[Agent], dialect: Dialect, digest: Callable[[str], str]
) -> Part:
    model = agent.model
    tools = [_tool(project, agent, tool, dialect) for tool in model.every_tool]
    found: Part = {
        "name": agent.name, "file": agent.file, "addon": model.model.addon,
        "model": {
            "name": model.model.name, "max_tokens": model.model.max_tokens,
            "options": model.model.options,
        },
        **_step(model.model.addon),
        "prices": [model.model.prices.input, model.model.prices.output]
        if model.model.prices else None,
        "instructions": str(model.instructions), "tools": tools,
        "memory": model.memory.messages,
        "output": None if model.output is None else shape_spec(model.output),
        "output_schema": None if model.output is None else shape_schema(model.output),
        "max_steps": model.limits.max_steps, "tokens": model.limits.tokens,
        "money": model.limits.money, "concurrency": model.limits.concurrency,
        "attempts": model.retry.attempts if model.retry else 5,
        "turn_attempts": model.retry.attempts if model.retry else TURN_RETRY["attempts"],
        "told": sorted(_told(project)),
    }  # fmt: skip
    return {**found, "code": agent_code(project, agent, digest)}


def agent_code(
    project: Project, agent: Resource[Agent], digest: Callable[[str], str]
) -> str:  # fmt: skip
    """Return the digest of what a run depends on: the agent, and its tools with their callees."""
    told = {key: plain(agent.document.root.get(key)) for key in _CODE_KEYS}
    names = agent.model.tool_names
    shapes = [shape_schema(arguments_of(project.functions[name])) for name in names]
    texts = [repr((LOOP_VERSION, told, shapes)), *map(digest, names)]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def _step(addon: str) -> Part:
    """Return the step of an addon that asks its model: id, terms, and the type of its result."""
    step = STEPS[addon]
    known = kind(addon)
    assert known is not None  # noqa: S101 - the addon is one of ours
    action = known.actions[step.partition(".")[2]]
    terms = [True, action.seconds, action.most_bytes, action.per_second]
    return {"step": step, "terms": terms, "gives": spec_of(action.gives)}


def _tool(
    project: CheckedProject, agent: Resource[Agent], tool: AgentTool, dialect: Dialect
) -> Part:
    function = project.functions[str(tool.function)]
    shapes = {part: getattr(function.model, part) or {} for part in PARTS}
    arguments = arguments_of(function)
    code = None
    if tool.approval is not None and tool.condition:
        code = compile_condition(find_call(agent, function), tool.approval, dialect)
    return {
        "name": tool_name(function.name), "function": function.name,
        "description": (function.model.description or "").strip(),
        "schema": _schema(arguments),
        "parts": {part: [name.rstrip("?") for name in shape] for part, shape in shapes.items()},
        "arguments": shape_spec(arguments), "approval": tool.waits, "approval_code": code,
    }  # fmt: skip


def _schema(arguments: Shape) -> Schema:
    return {**shape_schema(arguments), "additionalProperties": False}


def _told(project: Project) -> set[str]:
    """Return the events of runs that something in the project waits for."""
    wanted = {event for trigger in project.triggers.values() for event in trigger.model.event or ()}
    starts = (agent.model.runs_on.event for agent in enabled_agents(project))
    wanted |= {event for start in starts if start is not None for event in start.event}
    return {event for event in wanted if event in OWN_EVENTS and event.startswith("bbops.agent-")}


def compile_chats(project: Project) -> list[Part]:
    """Return the data of each chat for requests."""
    return [
        {
            "name": agent.name, "names": _names(agent),
            "authentication": agent.model.runs_on.chat.authentication,
            "keeps_ms": round(1000 * seconds(agent.model.memory.for_)),
            "timeout_seconds": seconds(agent.model.limits.timeout),
            "rate_limit": _rate_limit(agent.model.runs_on.chat.rate_limit),
        } for agent in enabled_agents(project) if agent.model.runs_on.chat is not None
    ]  # fmt: skip


def _names(agent: Resource[Agent]) -> list[str]:
    """Return the name of an agent, and the name that it had before: chats keep it."""
    old = agent.model.renamed_from
    return [agent.name, *([old] if old else [])]


def _rate_limit(limit: RateLimit) -> Part | None:
    if not limit.limit:
        return None
    return {
        "most": limit.limit, "seconds": round(limit.per_seconds),
        "by_address": limit.by == "address",
    }  # fmt: skip


def turn_work(agent: Resource[Agent]) -> Part:
    """Return the work of the turns of a chat: one of a chat at a time."""
    return {
        "name": work_name(agent.name, "chat"), "function": function_name(agent.name),
        "is_turn": True,
        "renamed_from": work_name(agent.model.renamed_from, "chat")
        if agent.model.renamed_from else "",
    }  # fmt: skip
