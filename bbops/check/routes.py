"""Each route is said once, and may not begin where the server's own routes are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bbops.diagnostics import Diagnostic
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
            yield Diagnostic(at, "reserved-path", "paths that begin with '/~' are the server's")
        names = route.parameters
        doubled = next((name for name in names if names.count(name) > 1), None)
        if doubled:
            yield Diagnostic(
                at, "duplicate-parameter", f"':{doubled}' stands twice in {route.path}"
            )
