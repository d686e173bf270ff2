"""Middleware runs before the request's values are typed."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.diagnostics import Diagnostic
from bbops.project import Project


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield the shapes that a function declares in vain, since channels run it as middleware."""
    for name in sorted(project.middleware & project.functions.keys()):
        function = project.functions[name]
        for part in ("input", "query", "params"):
            if getattr(function.model, part) is not None:
                yield Diagnostic(
                    function.place(part, key=True), "middleware",
                    f"middleware declares no '{part}': "
                    "it runs before the request's values are typed",
                    "read 'query' and 'params' as texts here, and type them with a filter",
                )  # fmt: skip
