"""A function that reads a body is reached by methods that have one."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.diagnostics import Diagnostic
from bbops.project import Project


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield endpoints whose method has no body, though their function declares `input`."""
    for route in project.routes:
        name = route.endpoint.model.function
        function = project.functions.get(name)
        if function is None or function.model.input is None:
            continue
        if route.method in {"GET", "DELETE"}:
            yield Diagnostic(
                route.endpoint.place("method"), "no-body",
                f"a {route.method} has no body, but function '{name}' declares 'input'",
                "use 'query' or 'params', or another method",
            )  # fmt: skip
