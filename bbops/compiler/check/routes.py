"""Each route is said once, and may not begin where the server's own routes are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bbops.base.diagnostics import Diagnostic, Place
from bbops.language.project import Project, Route


@dataclass(frozen=True, slots=True)
class _Answer:
    """Something that answers a route: an endpoint, or a webhook."""

    file: str
    at: Place
    method: str
    path: str


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield collisions and reserved paths. `:id` beside a literal is no collision."""
    seen: dict[tuple[str, str], _Answer] = {}
    for answer in _answers(project):
        shape = (answer.method, re.sub(r":[^/]+", ":", answer.path))
        first = seen.setdefault(shape, answer)
        if first is not answer:
            yield Diagnostic(
                answer.at, "duplicate-route", f"{answer.method} {answer.path} is defined twice",
                f"the other definition is {first.file}",
            )  # fmt: skip
    for route in project.routes:
        yield from _path(route)
    for webhook in _webhooks(project):
        if webhook.path.startswith("/~"):
            yield _reserved(webhook.at)


def _answers(project: Project) -> Iterator[_Answer]:
    for route in project.routes:
        endpoint = route.endpoint
        yield _Answer(endpoint.file, endpoint.place("path"), route.method, route.path)
    yield from _webhooks(project)


def _webhooks(project: Project) -> Iterator[_Answer]:
    for trigger in project.triggers.values():
        if trigger.model.webhook is not None:
            at = trigger.place("webhook", "path")
            yield _Answer(trigger.file, at, "POST", trigger.model.webhook.path)
    for agent in project.agents.values():
        webhook = agent.model.runs_on.webhook
        if webhook is not None:
            yield _Answer(
                agent.file, agent.place("runsOn", "webhook", "path"), "POST", webhook.path
            )


def _path(route: Route) -> Iterator[Diagnostic]:
    if route.path.startswith("/~"):
        yield _reserved(_reserving(route))
    names = route.parameters
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled:
        yield Diagnostic(
            route.endpoint.place("path"), "duplicate-parameter",
            f"':{doubled}' appears twice in {route.path}",
        )  # fmt: skip


def _reserved(at: Place) -> Diagnostic:
    return Diagnostic(at, "reserved-path", "paths that begin with '/~' are reserved for the server")


def _reserving(route: Route) -> Place:
    channel = route.channel
    if channel is not None and channel.model.base_path.startswith("/~"):
        return channel.place("basePath")
    return route.endpoint.place("path")
