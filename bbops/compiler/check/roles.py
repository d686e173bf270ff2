"""Roles are asked of signed-in users, and are those that the table of the users lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.language.project import Project, Resource, Route


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield roles that nobody can have, or that are asked where there is no user."""
    for channel in project.channels.values():
        model = channel.model
        if model.roles is not None and model.authentication != "JWT":
            yield Diagnostic(
                channel.place("roles"), "roles-need-user", "'roles' needs authentication: JWT",
                f"this channel has authentication: {model.authentication}; leave 'roles' out",
            )  # fmt: skip
    for route in project.routes:
        yield from _without_user(route)
    every: list[Resource[Any]] = [*project.channels.values(), *project.endpoints.values()]
    for resource in every:
        if resource.model.roles:
            yield from _unknown(project, resource)


def _without_user(route: Route) -> Iterator[Diagnostic]:
    if route.authentication == "JWT":
        return
    endpoint, channel = route.endpoint, route.channel
    if endpoint.model.roles is not None:
        yield Diagnostic(
            endpoint.place("roles"), "roles-need-user", "'roles' needs authentication: JWT",
            f"this endpoint has authentication: {route.authentication}; leave 'roles' out, or"
            " write 'authentication: JWT'",
        )  # fmt: skip
    elif endpoint.model.authentication and channel is not None and channel.model.roles:
        yield Diagnostic(
            endpoint.place("authentication"), "roles-need-user",
            f"channel '{channel.name}' has 'roles', which need authentication: JWT",
            "put the endpoint into a channel without roles, or into none",
        )  # fmt: skip


def _unknown(project: Project, resource: Resource[Any]) -> Iterator[Diagnostic]:
    auth = project.settings.model.auth
    if auth is None or project.settings.file in project.repaired:  # told elsewhere
        return
    name = auth.users
    if name is None or name not in project.tables:
        if name is None:
            yield Diagnostic(
                resource.place("roles"), "unknown-role", "nothing says which roles there are",
                "write 'users: TABLE' under 'auth' in project.yaml, and list the roles in the"
                " 'enum' of that table's column 'role'",
            )  # fmt: skip
        return
    table = project.tables[name]
    if table.file in project.repaired:
        return
    column = table.model.columns.get("role")
    if column is None or not column.enum:
        yield Diagnostic(
            resource.place("roles"), "unknown-role", "nothing says which roles there are",
            f"give the column 'role' in {table.file} an 'enum' that lists them",
        )  # fmt: skip
        return
    known = [one for one in column.enum if isinstance(one, str)]
    for at, role in enumerate(resource.model.roles):
        if role not in known:
            yield Diagnostic(
                resource.place("roles", at), "unknown-role", f"role '{role}' does not exist",
                suggest(role, known) or f"{table.file} has the roles {', '.join(known)}",
            )  # fmt: skip
