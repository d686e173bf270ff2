"""Middleware runs before the body is read."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.language.project import Project


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield the `input` that a function declares in vain, since it runs as middleware."""
    for name in sorted(project.middleware & project.functions.keys()):
        function = project.functions[name]
        if function.model.input is not None:
            yield Diagnostic(
                function.place("input", key=True), "middleware",
                "middleware declares no 'input': it runs before the body is read",
                "read 'query', 'params' and 'headers' here",
            )  # fmt: skip
