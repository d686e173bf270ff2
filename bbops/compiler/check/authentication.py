"""Nothing is public by accident: authentication is said, and can be checked."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.language.project import Project


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield endpoints that say nothing of authentication, and what says what nobody can check."""
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
    """Yield what asks for no key in a channel where everything else has one."""
    for endpoint in project.endpoints.values():
        channel = project.channels.get(endpoint.model.channel or "")
        is_closed = channel is not None and channel.model.authentication == "API Key"
        if endpoint.model.authentication == "Optional" and is_closed and channel is not None:
            yield Diagnostic(
                endpoint.place("authentication"), "optional-authentication",
                f"channel '{channel.name}' has authentication: API Key, whose callers have no user",
                "write 'authentication: JWT' or 'None', or put the endpoint into another channel",
            )  # fmt: skip
