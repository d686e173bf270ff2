"""Tests of triggers, tasks and agents: each key where it has a meaning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bbops.base.diagnostics import Diagnostic, did_you_mean, suggest
from bbops.compiler.check._checked import CheckedProject
from bbops.compiler.check._outside import Outside
from bbops.compiler.check._surroundings import find_payloads
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

_OF_REQUESTS: Final = ("auth", "params", "query", "headers", "input", "files", "trigger")

Path = tuple[str | int, ...]


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield the mistakes in cases of triggers, tasks and agents."""
    yield from _check_work_cases(project)
    yield from _check_agent_cases(project)


def _check_work_cases(project: Project) -> Iterator[Diagnostic]:
    """Yield mistakes in what tests say of work."""
    for test in project.tests.values():
        yield from _subject(project, test)
        for at, case in enumerate(test.model.cases):
            yield from _keys(project, test, case, ("cases", at))
            yield from _expect(project, test, case, ("cases", at, "expect"))


def _subject(project: Project, test: Resource[Test]) -> Iterator[Diagnostic]:
    trigger = project.triggers.get(test.model.trigger or "")
    task = project.tasks.get(test.model.task or "")
    if trigger is not None and trigger.model.database is not None:
        yield Diagnostic(
            test.place("trigger"), "test-case",
            f"trigger '{trigger.name}' runs when rows change, so a test has to change them",
            "test what changes them with 'work: run', or the function of the trigger",
        )  # fmt: skip
    for key, one in (("trigger", trigger), ("task", task)):
        if one is not None and not one.model.enabled:
            message = f"{key} '{one.name}' is not enabled, so nothing runs it"
            yield Diagnostic(test.place(key), "test-case", message)


def _keys(project: Project, test: Resource[Test], case: Case, path: Path) -> Iterator[Diagnostic]:
    model = test.model
    subject = "trigger" if model.trigger else "task" if model.task else ""
    for key in (*_OF_REQUESTS, *(("event",) if subject == "task" else ())) if subject else ():
        if getattr(case, key):
            yield Diagnostic(
                test.place(*path, key, key=True), "test-case",
                f"a test of a {subject} has no '{key}'",
                "give it an 'event'" if subject == "trigger" else "",
            )  # fmt: skip
    trigger = project.triggers.get(model.trigger or "")
    named, known = case.event.name if case.event else None, trigger.model.event if trigger else None
    if known and named is not None and named not in known:
        yield Diagnostic(
            test.place(*path, "event", "name"), "test-case",
            f"trigger '{model.trigger}' does not wait for '{named}'", suggest(named, known),
        )  # fmt: skip
    yield from _events(project, test, case, path)
    if case.crash is not None and not subject and not model.agent and case.work != "run":
        yield Diagnostic(
            test.place(*path, "crash", key=True), "test-case",
            "'crash' ends the process while jobs run, and none run here", "add 'work: run'",
        )  # fmt: skip


def _events(
    project: Project, test: Resource[Test], case: Case, path: Path
) -> Iterator[Diagnostic]:  # fmt: skip
    """Yield events that happen while nothing runs, or that nothing waits for."""
    outside, heard = Outside(test, {}), find_payloads(project)
    if case.events and case.work != "run":
        yield Diagnostic(
            test.place(*path, "events", key=True), "test-case",
            "'events' happen while jobs run, and none run here", "add 'work: run'",
        )  # fmt: skip
    for number, one in enumerate(case.events):
        outside.value(one.payload, *path, "events", number, "payload")
        if one.event not in heard:
            place = test.place(*path, "events", number, "event")
            message = f"no trigger and no 'wait' is for event '{one.event}'"
            yield Diagnostic(place, "test-case", message, suggest(one.event, heard))
    yield from outside.found


def _expect(
    project: Project, test: Resource[Test], case: Case, path: Path
) -> Iterator[Diagnostic]:  # fmt: skip
    outside = Outside(test, {})
    for number, message in enumerate(case.expect.published or ()):
        for key in ("params", "payload"):
            value = getattr(message, key)
            if value is not None:
                outside.value(plain_hash(value), *path, "published", number, key)
    yield from outside.found
    works = [*_works(project)]
    for at, work in enumerate(case.expect.dead or ()):
        if work not in works:
            place = test.place(*path, "dead", at)
            wrong = f"'{work}' is not a trigger, a task, an agent or a function that is enqueued"
            hint = suggest(work, works) or "such as triggers/order-paid"
            yield Diagnostic(place, "test-case", wrong, hint)


def _works(project: Project) -> Iterator[Any]:
    yield from (f"triggers/{name}" for name in project.triggers)
    yield from (f"tasks/{name}" for name in project.tasks)
    for name, agent in project.agents.items():
        yield from (f"agents/{name}/{start}" for start in agent.model.runs_on.starts)
    yield from (f"functions/{name}" for name in project.started)
    yield from (f"{one.work}:dead" for one in project.on_dead)


_NOT_IN_AGENT_CASES: Final = ("params", "query", "headers", "files", "trigger")
_BY_EVENT: Final = frozenset({"event", "webhook", "realtime"})

_REPLIES: Final = (["say"], ["tool"], ["tool", "args"], ["args", "tool"])
_REPLY_HINT: Final = "such as { say: Hi } or { tool: notes/list, args: {} }"


def _check_agent_cases(project: Project) -> Iterator[Diagnostic]:
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
    for key in _NOT_IN_AGENT_CASES:
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
