"""Each route is said once, and may not begin where the server's own routes are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bbops.diagnostics import Diagnostic, Place
from bbops.project import Project, Route


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield collisions and reserved paths. `:id` beside a literal is no collision."""
    seen: dict[tuple[str, str], Route] = {}
    for route in project.routes:
        at = route.endpoint.place("path")
        shape = (route.method, re.sub(r":[^/]+", ":", route.path))
        first = seen.setdefault(shape, route)
        if first is not route:
            yield Diagnostic(
                at, "duplicate-route", f"{route.method} {route.path} is answered twice",
                f"the other is {first.endpoint.file}",
            )  # fmt: skip
        if route.path.startswith("/~"):
            message = "paths that begin with '/~' are the server's"
            yield Diagnostic(_reserving(route), "reserved-path", message)
        names = route.parameters
        doubled = next((name for name in names if names.count(name) > 1), None)
        if doubled:
            yield Diagnostic(
                at, "duplicate-parameter", f"':{doubled}' stands twice in {route.path}"
            )


def _reserving(route: Route) -> Place:
    channel = route.channel
    if channel is not None and channel.model.base_path.startswith("/~"):
        return channel.place("basePath")
    return route.endpoint.place("path")
