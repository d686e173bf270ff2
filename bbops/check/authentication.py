"""Nothing is public by accident: authentication is said, and can be checked."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.diagnostics import Diagnostic
from bbops.project import Project


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
    for resource in (*project.endpoints.values(), *project.channels.values()):
        if resource.model.authentication == "JWT":
            yield Diagnostic(
                resource.place("authentication"), "no-signing-key", "project.yaml has no 'auth'",
                "add 'auth: { signingKey: ${ env.JWT_SECRET } }' on lines of its own",
            )  # fmt: skip
