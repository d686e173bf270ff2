"""Agents: their starts and tools, with names, arguments, approvals; and the model's addon."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from bbops.base.diagnostics import Diagnostic, Hint, ReplaceWord, suggest
from bbops.compiler.check._checked import CheckedProject
from bbops.compiler.check._outside import Outside
from bbops.compiler.check._ways import called, event_of
from bbops.compiler.check.triggers import (
    check_key,
    check_own_events,
    check_public_keys,
    check_rows,
    check_where,
)
from bbops.language.addons._base import AddonStep, kind
from bbops.language.expressions.types import Type, map_of
from bbops.language.project import Project, Resource
from bbops.language.resources.agent import MODEL_ADDONS, Agent, AgentTool, EventStart, RealtimeStart
from bbops.language.resources.function import Function
from bbops.language.resources.realtime import Realtime
from bbops.language.shape import Shape, shape_types
from bbops.language.steps._base import Step
from bbops.language.steps.return_ import Return
from bbops.language.steps.sql import Sql
from bbops.runtime.agents.dialects import DIALECTS
from bbops.runtime.agents.values import tool_name
from bbops.runtime.work.values import AGENT_EVENTS

PARTS: Final = ("input", "params", "query")
"""The shapes of a function whose fields are the arguments of a tool."""
ANSWER: Final = "answer"
"""The tool with which a model gives an `output`; no function can have its name beside one."""
_STARTS: Final = {
    "chat": "a chat without JWT", "webhook": "a webhook", "database": "rows of a table",
    "event": "an event", "realtime": "messages of a topic",
}  # fmt: skip
_BOOLEANS: Final = {"yes": "true", "on": "true", "no": "false", "off": "false"}


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield the mistakes of agents."""
    yield from _check_agents(project)
    yield from _check_agent_starts(project)


def _check_agents(project: Project) -> Iterator[Diagnostic]:
    """Yield mistakes in tools and models, and a warning for tools without a description."""
    for agent in project.agents.values():
        yield from _model(project, agent)
        yield from _options(agent)
        yield from _instructions(agent)
        yield from _names(agent)
        for at, tool in enumerate(agent.model.every_tool):
            function = project.functions.get(str(tool.function))
            if function is not None:
                yield from _arguments(agent, function, at)
                yield from _files(agent, function, at)
                yield from _approval(project, agent, function, tool, at)


def arguments_of(function: Resource[Function]) -> Shape:
    """Return the arguments of a tool: the `input`, `params` and `query` of its function."""
    shapes = (getattr(function.model, part) or {} for part in PARTS)
    return {name: field for shape in shapes for name, field in shape.items()}


def argument_type(function: Resource[Function]) -> Type:
    """Return the type of `args` in `approval`."""
    return map_of(shape_types(arguments_of(function)), "args")


def _model(project: Project, agent: Resource[Agent]) -> Iterator[Diagnostic]:
    """Refuse an addon without models, and an addon that is missing."""
    name, place = agent.model.model.addon, agent.place("model", "addon")
    if name not in MODEL_ADDONS:
        is_there = kind(name) is not None or name in project.addons
        message = f"addon '{name}' {'has no models' if is_there else 'does not exist'}"
        hint = suggest(name, MODEL_ADDONS) or f"the addons for models are {_LISTED}"
        yield Diagnostic(place, "bad-value" if is_there else "unknown-addon", message, hint)
    elif name not in project.addons and ("addons", name) not in project.broken:
        message, hint = f"addon '{name}' does not exist", f"make addons/{name}.yaml"
        yield Diagnostic(place, "unknown-addon", message, hint)


_LISTED: Final = " and ".join(MODEL_ADDONS)


def _options(agent: Resource[Agent]) -> Iterator[Diagnostic]:
    """Refuse options of the vendor that the agent writes itself, or that no answer fits."""
    dialect, options = DIALECTS.get(agent.model.model.addon), agent.model.model.options
    for name in sorted(options.keys() & (dialect.reserved if dialect else frozenset())):
        place = agent.place("model", "options", name, key=True)
        message = f"an agent cannot have the option '{name}': requests to its model depend on it"
        yield Diagnostic(place, "bad-value", message, "remove it")
    tools = options.get("tools", [])
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        place = agent.place("model", "options", "tools")
        hint = "tools of the vendor; functions of the project belong in the agent's 'tools'"
        yield Diagnostic(place, "bad-value", "the option 'tools' needs a list of maps", hint)


def _instructions(agent: Resource[Agent]) -> Iterator[Diagnostic]:
    """Warn about expressions, which the model would read as text."""
    found = re.search(r"\$\{[^{}]*\}", agent.model.instructions)
    if found is not None:
        yield Diagnostic(
            agent.place("instructions"), "static",
            f"'instructions' takes no expressions: the model reads '{found[0]}' as text",
            "describe what to look up, and let a tool give the value", severity="warning",
        )  # fmt: skip


def _names(agent: Resource[Agent]) -> Iterator[Diagnostic]:
    """Refuse two tools with one name, and a tool with the name of our own."""
    seen = dict[str, str]()
    for at, function in enumerate(agent.model.tool_names):
        name, place = tool_name(function), agent.place("tools", at)
        if function in seen.values():
            yield Diagnostic(place, "duplicate-name", f"tool '{function}' is listed twice here")
        elif name in seen:
            message = f"tools '{seen[name]}' and '{function}' are both '{name}' for the model"
            yield Diagnostic(place, "duplicate-name", message, "rename one of the functions")
        elif name == ANSWER and agent.model.output is not None:
            message = f"tool '{function}' has the name of the tool that gives the 'output'"
            hint = "rename the function, or move it into a folder"
            yield Diagnostic(place, "duplicate-name", message, hint)
        seen.setdefault(name, function)


def _arguments(
    agent: Resource[Agent], function: Resource[Function], at: int
) -> Iterator[Diagnostic]:
    names = [
        name.rstrip("?") for part in PARTS for name in getattr(function.model, part) or {}
    ]  # fmt: skip
    doubled = next((name for name in names if names.count(name) > 1), None)
    place, name = agent.place("tools", at), function.name
    if doubled is not None:
        yield Diagnostic(
            place, "duplicate-argument", f"tool '{name}' has two arguments named '{doubled}'",
            f"rename one in {function.file}: input, params and query share one list here",
        )  # fmt: skip
    if not function.model.description:
        yield Diagnostic(
            place, "no-description", f"tool '{name}' has no 'description'",
            f"say in {function.file} what it does: it is all that the model knows about it",
            severity="warning",
        )  # fmt: skip


def _files(agent: Resource[Agent], function: Resource[Function], at: int) -> Iterator[Diagnostic]:
    """Refuse a tool that returns a file."""
    for step in function.model.every_step:
        if isinstance(step, Return) and step.return_.file is not None:
            line = function.at(step.mark).line
            message = f"tool '{function.name}' returns a file, which a model cannot read"
            hint = f"return a 'value' in {function.file}:{line}"
            yield Diagnostic(agent.place("tools", at), "bad-value", message, hint)
            return


def _approval(
    project: Project, agent: Resource[Agent], function: Resource[Function], tool: AgentTool, at: int
) -> Iterator[Diagnostic]:
    """Check the condition of a tool; refuse its absence where strangers start what writes."""
    if tool.approval is not None:
        outside = find_call(agent, function)
        yield from check_where(outside, tool.approval, "tools", at, "approval")
        return
    starts = agent.model.runs_on.open_starts
    writing = find_writing_step(project, function.name) if starts else None
    if writing is not None:
        line = writing.function.at(writing.step.mark).line
        where = f"'{writing.step.key}' in {writing.function.file}:{line}"
        yield Diagnostic(
            agent.place("tools", at), "unattended-tool",
            f"{_STARTS[starts[0]]} can make the agent call '{function.name}', which writes:"
            f" {where}",
            f"write '{{ function: {function.name}, approval: true }}', or 'approval: false' if"
            " nobody has to look at its calls",
        )  # fmt: skip


def find_call(agent: Resource[Any], function: Resource[Function]) -> Outside:
    """Return the scope of `approval`: the arguments of a call."""
    names = [name.rstrip("?") for name in arguments_of(function)]
    missing: dict[str, str] = {
        name: Hint(f"write 'args.{name}'", ReplaceWord(name, f"args.{name}")) for name in names
    }
    for part in PARTS:
        missing.setdefault(part, Hint("write 'args'", ReplaceWord(part, "args")))
    for word, meant in _BOOLEANS.items():
        missing.setdefault(word, Hint(f"write '{meant}'", ReplaceWord(word, meant)))
    return Outside(agent, {"args": argument_type(function)}, missing=missing)


_ROOT = "runsOn"


def _check_agent_starts(project: Project) -> Iterator[Diagnostic]:
    """Yield mistakes in conditions, keys, events and signatures of starts."""
    for agent in project.agents.values():
        runs_on = agent.model.runs_on
        yield from check_rows(project, agent, runs_on.database, _ROOT, "database")
        if runs_on.webhook is not None:
            yield from check_public_keys(agent, runs_on.webhook, _ROOT, "webhook")
        if runs_on.event is not None:
            yield from _event(agent, runs_on.event)
        if runs_on.realtime is not None:
            yield from _realtime(project, agent, runs_on.realtime)


def _event(agent: Resource[Agent], start: EventStart) -> Iterator[Diagnostic]:
    yield from check_own_events(agent, start.event, _ROOT, "event", "event")
    told = [event for event in start.event if event in AGENT_EVENTS]
    if told and start.where is None:
        message = f"each run of agent '{agent.name}' emits '{told[0]}', which starts it again"
        hint = f"add 'where: event.payload.agent != \"{agent.name}\"', or use a trigger"
        yield Diagnostic(agent.place(_ROOT, "event"), "bad-value", message, hint)
    if start.where is not None:
        yield from check_where(find_event(agent), start.where, _ROOT, "event", "where")
    yield from check_key(find_event(agent), start.unique, _ROOT, "event", "unique")
    yield from check_key(find_event(agent), start.debounce, _ROOT, "event", "debounce")


def _realtime(
    project: Project, agent: Resource[Agent], start: RealtimeStart
) -> Iterator[Diagnostic]:
    topic = project.realtime.get(str(start.topic))
    if topic is None:
        return  # see `references`
    place = agent.place(_ROOT, "realtime", "topic")
    if topic.model.rows is not None:
        message = f"topic '{topic.name}' has the changes of rows, and no messages"
        hint = f"use 'database: {{ table: {topic.model.rows.table}, operation: … }}' in its place"
        yield Diagnostic(place, "bad-value", message, hint)
    elif not topic.model.events:
        message = f"topic '{topic.name}' has no 'events'"
        hint = f"declare what is published in {topic.file}"
        yield Diagnostic(place, "bad-value", message, hint)
    elif start.event is not None and start.event not in topic.model.events:
        place = agent.place(_ROOT, "realtime", "event")
        message = f"realtime '{topic.name}' has no event '{start.event}'"
        hint = suggest(start.event, topic.model.events) or "declare it under 'events' there"
        yield Diagnostic(place, "unknown-event", message, hint)
    elif start.where is not None:
        outside = find_message(agent, topic, start)
        yield from check_where(outside, start.where, _ROOT, "realtime", "where")


def find_event(agent: Resource[Agent]) -> Outside:
    """Return the scope of conditions and keys of an event start; the payload is open."""
    return Outside(agent, {"event": event_of(None)})


def find_message(
    agent: Resource[Agent], topic: Resource[Realtime], start: RealtimeStart
) -> Outside:
    """Return the scope of the condition of a realtime start.

    The payload has the shape of the event; it is open if messages of several events start it.
    """
    events = topic.model.events
    name = start.event or (next(iter(events)) if len(events) == 1 else "")
    return Outside(agent, {"event": event_of(events.get(name))})


class WritingStep(NamedTuple):
    """A step that writes, and its function."""

    function: Resource[Function]
    step: Step


def find_writing_step(project: Project, name: str) -> WritingStep | None:
    """Return the first step that writes in a function, or in those that it calls."""
    for callee in sorted(called(project, [name]), key=lambda callee: callee != name):
        function = project.functions[callee]
        for step in function.model.every_step:
            if is_writing(project, step):
                return WritingStep(function, step)
    return None


def is_writing(project: Project, step: Step) -> bool:
    """Return whether a step writes; of an addon's, what its declaration says."""
    if isinstance(step, Sql):
        return step.sql.mode == "write"
    if not isinstance(step, AddonStep):
        return step.writes
    addon, _, name = step.id.partition(".")
    if kind(addon) is not None:
        return step.action.writes
    own = project.own_steps.get(addon, {}).get(name)
    return own is None or own.model.writes
