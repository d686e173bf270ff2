"""Tests of agents: each case has a start that the agent has, and answers of its model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check._outside import Outside
from bbops.compiler.check.cases import plain_hash
from bbops.language.expressions.values import MapValue
from bbops.language.project import Project, Resource
from bbops.language.resources.agent import Agent
from bbops.language.resources.test import Case, Test
from bbops.runtime.agents.values import STEPS

_OF_REQUESTS: Final = ("params", "query", "headers", "files", "trigger")
_BY_EVENT: Final = frozenset({"event", "webhook", "realtime"})

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
