"""Files of requests: they come in a body, under names of their own."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.diagnostics import Diagnostic
from bbops.project import Project


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield files of requests without a body, and those that the function declares as well."""
    for endpoint in project.endpoints.values():
        files, method = endpoint.model.files, endpoint.model.method
        if files and method in {"GET", "DELETE"}:
            yield Diagnostic(
                endpoint.place("files", key=True), "no-body",
                f"a {method} has no body, and so no files", "use another method",
            )  # fmt: skip
        function = project.functions.get(endpoint.model.function)
        declared = {name.rstrip("?") for name in (function.model.input or {})} if function else ()
        for name in files:
            if function is not None and name.rstrip("?") in declared:
                yield Diagnostic(
                    endpoint.place("files", name, key=True), "duplicate-argument",
                    f"'{name}' is a file here and a field of 'input' in {function.file}",
                    "leave it out of 'input': the file is there by itself",
                )  # fmt: skip
