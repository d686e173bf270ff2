"""Find access that agents gain: more tools, calls without approval, and more ways to start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bbops.language.expressions.values import Expression
from bbops.language.project import Resource
from bbops.language.resources.agent import Agent, AgentTool
from bbops.review.plan.changes import Pairs
from bbops.review.plan.codes import Finding, finding
from bbops.review.plan.opened import Shape, shape

_STARTS: Final = {
    "chat": "anybody can chat with it", "webhook": "a webhook starts it",
    "database": "rows of a table start it", "event": "events start it",
    "realtime": "messages of a topic start it",
}  # fmt: skip
_SHOWN: Final = 5


def find_opened_agents(pairs: Pairs) -> Iterator[Finding]:
    """Yield new starts by strangers, and tools and approvals of agents that existed before."""
    before = {head.name: base for base, head in pairs.both("agents")}
    for name, head in pairs.head.agents.items():
        yield from _starts(before.get(name), head)
        if name in before:
            yield from _tools(pairs, before[name], head)


def _starts(base: Resource[Agent] | None, head: Resource[Agent]) -> Iterator[Finding]:
    """Yield the new starts by people or services that have not signed in."""
    subject = f"agent {head.name}"
    was = base.model.runs_on if base is not None else None
    for name in head.model.runs_on.open_starts:
        place = head.place("runsOn", name)
        if was is not None and name in was.open_starts:
            continue
        if name == "chat" and was is not None and was.chat is not None:
            message = "anybody may chat, it needed JWT"
            yield finding("authentication-removed", subject, message, place)
        else:
            yield finding("agent-opened", subject, f"{_STARTS[name]}{_reach(head)}", place)


def _reach(head: Resource[Agent]) -> str:
    """Return the tools that strangers reach through an agent; empty without tools."""
    tools = head.model.tool_names
    more = f" and {len(tools) - _SHOWN} more" if len(tools) > _SHOWN else ""
    named = ", ".join(f"'{tool}'" for tool in tools[:_SHOWN])
    return f", and it may call {named}{more}" if tools else ""


def _tools(pairs: Pairs, base: Resource[Agent], head: Resource[Agent]) -> Iterator[Finding]:
    subject = f"agent {head.name}"
    had = {
        pairs.new_name("functions", str(tool.function)): tool for tool in base.model.every_tool
    }  # fmt: skip
    for at, tool in enumerate(head.model.every_tool):
        name, place = str(tool.function), head.place("tools", at)
        if name not in had:
            yield finding("agent-tool-added", subject, f"may call '{name}'", place)
        elif message := _dropped(had[name], tool):
            yield finding("approval-dropped", subject, f"'{name}' {message}", place)


def _dropped(was: AgentTool, now: AgentTool) -> str:
    """Return how calls lose their approval; empty if they keep it."""
    if not was.waits:
        return ""
    before = f"it did if '{was.condition}'" if was.condition else "each call did"
    if not now.waits:
        return f"no longer waits for approval; {before}"
    if not now.condition or _shape(was) == _shape(now):
        return ""
    return f"waits for approval if '{now.condition}'; {before}"


def _shape(tool: AgentTool) -> Shape:
    return shape(tool.approval.node) if isinstance(tool.approval, Expression) else ()
