"""Who may subscribe to a topic and publish on it, and what others see of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.build.check._before import left_by_chain
from bbops.build.check._checked import CheckedProject
from bbops.build.check._outside import Outside
from bbops.language.expressions.known import Known
from bbops.language.expressions.types import TEXT, map_of
from bbops.language.project import Resource
from bbops.language.resources.realtime import Realtime

_ELSEWHERE = dict.fromkeys(
    ("input", "query", "headers", "request", "event", "trigger"),
    "only 'params' and 'vars' are available; middleware can add to 'vars'",
)


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield mistakes in expressions, names that stand twice in a topic, and topics that do."""
    seen: dict[str, Resource[Realtime]] = {}
    for realtime in project.realtime.values():
        names = realtime.model.parameters
        doubled = next((name for name in names if names.count(name) > 1), None)
        if doubled:
            message = f"':{doubled}' appears twice in {realtime.model.topic}"
            yield Diagnostic(realtime.place("topic"), "duplicate-parameter", message)
        first = seen.setdefault(re.sub(r":[^/]+", ":", realtime.model.topic), realtime)
        if first is not realtime:
            message = f"the topic '{realtime.model.topic}' is defined twice"
            hint = f"the other definition is {first.file}"
            yield Diagnostic(realtime.place("topic"), "duplicate-topic", message, hint)
        yield from _expressions(project, realtime)


def find_subscriber(project: CheckedProject, realtime: Resource[Realtime]) -> Outside:
    """Return what expressions of a topic may read: of who subscribes, or publishes."""
    model = realtime.model
    roots = {"params": map_of(dict.fromkeys(model.parameters, TEXT), "params")}
    missing = dict(_ELSEWHERE)
    if model.authentication == "JWT":
        roots["auth"] = project.caller_types["auth"]
    else:
        missing["vars.auth"] = f"this topic has authentication: {model.authentication}"

    def left_by(middleware: str) -> Known | None:
        return project.flows.of(middleware).left

    known = left_by_chain(project, tuple(model.middleware), left_by)
    return Outside(realtime, roots, known=known, missing=missing)


def _expressions(project: CheckedProject, realtime: Resource[Realtime]) -> Iterator[Diagnostic]:
    model, outside = realtime.model, find_subscriber(project, realtime)
    outside.condition(model.subscribe, "subscribe")
    outside.condition(model.publish, "publish")
    hidden = [*_shown(outside, model)]
    if all(name in project.functions for name in model.middleware):
        yield from outside.found
        yield from hidden


def _shown(outside: Outside, model: Realtime) -> Iterator[Diagnostic]:
    """Check what others see of a subscriber; yield what they may not."""
    for name, value in (model.presence.show if model.presence else {}).items():
        path = ("presence", "show", name)
        if outside.value(value, *path).hides:
            yield Diagnostic(
                outside.resource.place(*path), "private-data",
                "'presence' would expose a private column or a secret",
                "show what others may know of a subscriber",
            )  # fmt: skip
