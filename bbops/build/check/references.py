"""Names of other resources must exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bbops.base.diagnostics import Diagnostic, suggest_resource
from bbops.language.project import Project, Resource
from bbops.language.resources.agent import Agent
from bbops.language.resources.test import Test
from bbops.language.resources.trigger import DatabaseTrigger

Reference = tuple[Resource[Any], tuple[str | int, ...], str, str | None]
"""(file, where in it, kind of what is named, the name)."""


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield every reference to something that is not there."""
    groups = _groups(project)
    for resource, path, kind, name in _references(project):
        folder, known = groups[kind]
        if name is None or name in known or (folder, name) in project.broken:
            continue
        yield Diagnostic(
            resource.place(*path), f"unknown-{kind}", f"{kind} '{name}' does not exist",
            suggest_resource(name, folder, known),
        )  # fmt: skip


def _groups(project: Project) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
    return {
        "function": ("functions", project.functions),
        "channel": ("channels", project.channels),
        "table": ("tables", project.tables),
        "endpoint": ("endpoints", project.endpoints),
        "realtime": ("realtime", project.realtime),
    }


def _references(project: Project) -> Iterator[Reference]:
    yield from _of_settings(project)
    for endpoint in project.endpoints.values():
        yield endpoint, ("function",), "function", endpoint.model.function
        yield endpoint, ("channel",), "channel", endpoint.model.channel
    for group in (project.channels, project.realtime):
        for resource in group.values():
            for at, name in enumerate(resource.model.middleware):
                yield resource, ("middleware", at), "function", name
    for task in project.tasks.values():
        yield task, ("function",), "function", task.model.function
    for trigger in project.triggers.values():
        yield trigger, ("function",), "function", trigger.model.function
        yield from _of_database(trigger, trigger.model.database, "database")
    for agent in project.agents.values():
        yield from _of_agent(agent)
    for test in project.tests.values():
        yield from _of_test(test)


def _of_settings(project: Project) -> Iterator[Reference]:
    settings, session = project.settings, project.settings.model.session
    if settings.model.auth is not None:
        yield settings, ("auth", "users"), "table", settings.model.auth.users
    if session is not None:
        for name in ("login", "signup", "refresh", "logout"):
            yield settings, ("session", name), "endpoint", getattr(session, name)


def _of_database(
    resource: Resource[Any], database: DatabaseTrigger | None, *path: str
) -> Iterator[Reference]:
    if database is not None:
        yield resource, (*path, "table"), "table", database.table


def _of_agent(agent: Resource[Agent]) -> Iterator[Reference]:
    for at, name in enumerate(agent.model.tools):
        yield agent, ("tools", at), "function", name
    yield from _of_database(agent, agent.model.runs_on.database, "runsOn", "database")
    yield agent, ("runsOn", "realtime"), "realtime", agent.model.runs_on.realtime


def _of_test(test: Resource[Test]) -> Iterator[Reference]:
    yield test, ("function",), "function", test.model.function
    yield test, ("endpoint",), "endpoint", test.model.endpoint
