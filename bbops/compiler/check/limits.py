"""A limit that counts users stands where there may be some."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.language.project import Project


def check(project: Project) -> Iterator[Diagnostic]:
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
