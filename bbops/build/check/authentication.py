"""Nothing is public by accident: authentication is said, and can be checked."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.language.project import Project


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield endpoints without explicit authentication, and JWT without a key to check it."""
    has_key = project.settings.model.auth is not None
    for endpoint in project.endpoints.values():
        if endpoint.model.authentication is None and endpoint.model.channel is None:
            yield Diagnostic(
                endpoint.place(), "missing-authentication", "'authentication' is missing",
                "write 'authentication: JWT', or 'authentication: None' for a public endpoint",
            )  # fmt: skip
    if has_key:
        return
    places = [
        resource.place("authentication")
        for group in (project.endpoints, project.channels)
        for resource in group.values()
        if resource.model.authentication == "JWT"
    ]
    for place in places:
        yield Diagnostic(
            place, "no-signing-key", "project.yaml has no 'auth'",
            "add 'auth:' with 'signingKey: ${ env.JWT_SECRET }' under it",
        )  # fmt: skip
