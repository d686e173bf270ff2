"""Tests of triggers and tasks, and what cases say of work: each key where it means something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.compiler.check._outside import Outside
from bbops.compiler.check._surroundings import find_payloads
from bbops.compiler.check.cases import plain_hash
from bbops.language.project import Project, Resource
from bbops.language.resources.test import Case, Test

_OF_REQUESTS: Final = ("auth", "params", "query", "headers", "input", "files", "trigger")

Path = tuple[str | int, ...]


def check(project: Project) -> Iterator[Diagnostic]:
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
