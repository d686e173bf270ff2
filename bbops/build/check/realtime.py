"""Who may subscribe to a topic and publish on it, as expressions say it."""

from __future__ import annotations

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
    """Yield mistakes in `subscribe` and `publish`, and names that stand twice in a topic."""
    for realtime in project.realtime.values():
        names = realtime.model.parameters
        doubled = next((name for name in names if names.count(name) > 1), None)
        if doubled:
            message = f"':{doubled}' appears twice in {realtime.model.topic}"
            yield Diagnostic(realtime.place("topic"), "duplicate-parameter", message)
        yield from _conditions(project, realtime)


def _conditions(project: CheckedProject, realtime: Resource[Realtime]) -> Iterator[Diagnostic]:
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
    outside = Outside(realtime, roots, known=known, missing=missing)
    outside.condition(model.subscribe, "subscribe")
    outside.condition(model.publish, "publish")
    if all(name in project.functions for name in model.middleware):
        yield from outside.found
