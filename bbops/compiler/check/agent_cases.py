"""Tests of agents: each case has a start that the agent has, and answers of its model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bbops.base.diagnostics import Diagnostic, did_you_mean, suggest
from bbops.compiler.check._outside import Outside
from bbops.compiler.check.cases import plain_hash
from bbops.language.expressions.values import (
    Broken,
    Constant,
    Expression,
    ListValue,
    MapValue,
    Value,
)
from bbops.language.project import Project, Resource
from bbops.language.resources.agent import Agent
from bbops.language.resources.test import Case, Test
from bbops.runtime.agents.values import STEPS, tool_name

_OF_REQUESTS: Final = ("params", "query", "headers", "files", "trigger")
_BY_EVENT: Final = frozenset({"event", "webhook", "realtime"})

_REPLIES: Final = (["say"], ["tool"], ["tool", "args"], ["args", "tool"])
_REPLY_HINT: Final = "such as { say: Hi } or { tool: notes/list, args: {} }"

Path = tuple[str | int, ...]


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield mistakes in tests of agents, and answers of models in other tests."""
    for test in project.tests.values():
        agent = project.agents.get(test.model.agent or "")
        if agent is not None and not agent.model.enabled:
            message = f"agent '{agent.name}' is not enabled, so nothing runs it"
            yield Diagnostic(test.place("agent"), "test-case", message)
        for at, case in enumerate(test.model.cases):
            path = ("cases", at)
            if test.model.agent is None:
                yield from _without_agent(test, case, path)
            elif agent is not None:
                yield from _case(test, case, path, agent)


def _without_agent(test: Resource[Test], case: Case, path: Path) -> Iterator[Diagnostic]:
    for key in ("model", "approve"):
        if getattr(case, key) is not None:
            message = f"'{key}' is for tests of agents"
            hint = "name the agent as 'agent', or mock the step of the model"
            yield Diagnostic(test.place(*path, key, key=True), "test-case", message, hint)


def _case(
    test: Resource[Test], case: Case, path: Path, agent: Resource[Agent]
) -> Iterator[Diagnostic]:  # fmt: skip
    for key in _OF_REQUESTS:
        if getattr(case, key):
            yield Diagnostic(
                test.place(*path, key, key=True), "test-case",
                f"a test of an agent has no '{key}'", "give it a message as 'input', or an 'event'",
            )  # fmt: skip
    yield from _start(test, case, path, agent)
    outside = Outside(test, {})
    for number, reply in enumerate(case.model or ()):
        outside.value(plain_hash(reply), *path, "model", number)
        yield from _reply(test, reply, (*path, "model", number), agent)
    yield from outside.found
    step = STEPS.get(agent.model.model.addon, "")
    if case.model is None and step not in {*test.model.mocks, *case.mocks}:
        message, hint = "'model' is missing", "write the answers of the model, such as { say: Hi }"
        yield Diagnostic(test.place(*path), "test-case", message, hint)


def _start(
    test: Resource[Test], case: Case, path: Path, agent: Resource[Agent]
) -> Iterator[Diagnostic]:  # fmt: skip
    starts = {*agent.model.runs_on.starts}
    if case.input is not None:
        given = case.input
        if "chat" not in starts:
            message = f"agent '{agent.name}' has no chat, so it gets no 'input'"
            yield Diagnostic(test.place(*path, "input", key=True), "test-case", message)
        elif not isinstance(given, MapValue) or [key for key, _ in given.items] != ["message"]:
            message, hint = "the 'input' of a chat is a message", "write input: { message: … }"
            yield Diagnostic(test.place(*path, "input"), "test-case", message, hint)
        elif case.auth is None and _needs_user(agent.model):
            message, hint = "a chat with JWT needs a user", "write auth: { userId: … }"
            yield Diagnostic(test.place(*path, "input", key=True), "test-case", message, hint)
    elif case.event is not None:
        if not starts & _BY_EVENT:
            message = f"agent '{agent.name}' does not run on events, webhooks or topics"
            yield Diagnostic(test.place(*path, "event", key=True), "test-case", message)
    elif "schedule" not in starts:
        message = f"nothing starts agent '{agent.name}' in this case"
        hint = "give it a message as 'input'" if "chat" in starts else "give it an 'event'"
        if starts == {"database"}:
            hint = "change the rows in a test of what changes them, with 'work: run'"
        yield Diagnostic(test.place(*path), "test-case", message, hint)


def _needs_user(agent: Agent) -> bool:
    chat = agent.runs_on.chat
    return chat is not None and chat.authentication == "JWT"


def _reply(
    test: Resource[Test], reply: Value, path: Path, agent: Resource[Agent]
) -> Iterator[Diagnostic]:  # fmt: skip
    """Yield mistakes in an answer of the model: unknown keys, and tools of other agents."""
    if isinstance(reply, ListValue):
        for at, part in enumerate(reply.items):
            yield from _reply(test, part, (*path, at), agent)
        return
    if isinstance(reply, Expression | Broken):
        return
    keys = [key for key, _ in reply.items] if isinstance(reply, MapValue) else []
    if keys not in _REPLIES:
        unknown = next((key for key in keys if key not in {"say", "tool", "args"}), None)
        place = test.place(*path) if unknown is None else test.place(*path, unknown, key=True)
        message = "an answer of the model is { say } or { tool, args }"
        yield Diagnostic(place, "test-case", message, _REPLY_HINT)
    elif isinstance(reply, MapValue) and keys != ["say"]:
        tool = dict(reply.items)["tool"]
        if isinstance(tool, Constant):
            yield from _tool(test, str(tool.value), (*path, "tool"), agent)


def _tool(
    test: Resource[Test], name: str, path: Path, agent: Resource[Agent]
) -> Iterator[Diagnostic]:  # fmt: skip
    known = {*agent.model.tool_names, *(["answer"] if agent.model.output is not None else [])}
    if name in known:
        return
    message = f"agent '{agent.name}' has no tool '{name}'"
    by_model = {tool_name(tool): tool for tool in known}
    meant = by_model.get(name)
    hint = suggest(name, known) if meant is None else did_you_mean(name, meant)
    tools = f"its tools: {', '.join(sorted(known))}" if known else "it has no tools"
    yield Diagnostic(test.place(*path), "test-case", message, hint or tools)
