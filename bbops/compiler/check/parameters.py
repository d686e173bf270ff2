"""Path parameters that a function needs stand in every path that leads to it."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check._checked import CheckedProject


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield required `params` that some path to the function does not have."""
    for name, function in project.functions.items():
        for parameter, field in (function.model.params or {}).items():
            if parameter.endswith("?") or field.default is not None:
                continue
            for way in project.ways_to(name):
                if way.has_request and parameter not in way.parameters:
                    yield Diagnostic(
                        function.place("params", parameter, key=True), "missing-parameter",
                        f"{way.what} has no ':{parameter}' in its path",
                        f"add it to the path, or write '{parameter}?' if it is optional",
                    )  # fmt: skip
                    break
