"""Access to routes and channels: authentication, rate limits, origins of pages, and roles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bbops.base.diagnostics import Diagnostic, suggest
from bbops.compiler.check._checked import CheckedProject
from bbops.language.project import Project, Resource, Route


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield access that is missing, cannot be checked, or is open to more than meant."""
    yield from _check_authentication(project)
    yield from _check_limits(project)
    yield from _check_origins(project)
    yield from _check_roles(project)


def _check_authentication(project: Project) -> Iterator[Diagnostic]:
    """Yield endpoints that set no authentication, and authentication that cannot be checked."""
    has_key = project.settings.model.auth is not None
    for endpoint in project.endpoints.values():
        if endpoint.model.authentication is None and endpoint.model.channel is None:
            yield Diagnostic(
                endpoint.place(), "missing-authentication", "'authentication' is missing",
                "write 'authentication: JWT', or 'authentication: None' for a public endpoint",
            )  # fmt: skip
    yield from _optional(project)
    if has_key:
        return
    places = [
        resource.place("authentication")
        for group in (project.endpoints, project.channels)
        for resource in group.values()
        if resource.model.authentication in {"JWT", "Optional"}
    ]
    for place in places:
        yield Diagnostic(
            place, "no-signing-key", "project.yaml has no 'auth'",
            "add 'auth:' with 'signingKey: ${ env.JWT_SECRET }' under it",
        )  # fmt: skip


def _optional(project: Project) -> Iterator[Diagnostic]:
    """Yield endpoints without a key in a channel whose other endpoints need one."""
    for endpoint in project.endpoints.values():
        channel = project.channels.get(endpoint.model.channel or "")
        is_closed = channel is not None and channel.model.authentication == "API Key"
        if endpoint.model.authentication == "Optional" and is_closed and channel is not None:
            yield Diagnostic(
                endpoint.place("authentication"), "optional-authentication",
                f"channel '{channel.name}' has authentication: API Key, whose callers have no user",
                "write 'authentication: JWT' or 'None', or put the endpoint into another channel",
            )  # fmt: skip


def _check_limits(project: Project) -> Iterator[Diagnostic]:
    """Yield each `by: user` of a channel or endpoint whose callers are never users."""
    channels = {one.name: one.model.authentication for one in project.channels.values()}
    routes = {one.endpoint.name: one.authentication for one in project.routes}
    for known, group in ((channels, project.channels), (routes, project.endpoints)):
        for resource in group.values():
            limit, who = resource.model.rate_limit, known.get(resource.name)
            if limit is not None and limit.by == "user" and who in {"None", "API Key"}:
                yield Diagnostic(
                    resource.place("rateLimit", "by"), "bad-value",
                    f"with authentication: {who} there is no user to count",
                    "write 'by: address', or leave it out",
                )  # fmt: skip


def _check_origins(project: Project) -> Iterator[Diagnostic]:
    """Yield channels that would let every page of the internet act as its reader."""
    for channel in project.channels.values():
        cors = channel.model.cors
        if cors.credentials and "*" in cors.origins:
            is_listed = "origins" in cors.model_fields_set
            yield Diagnostic(
                channel.place("cors", "origins" if is_listed else "credentials"), "any-origin",
                "'credentials: true' needs a list of origins, not '*'",
                "write 'origins: [https://app.example.com]': each of them may act as whoever reads"
                " its pages",
            )  # fmt: skip


def _check_roles(project: Project) -> Iterator[Diagnostic]:
    """Yield roles that no user can have, and roles of endpoints without a user."""
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
