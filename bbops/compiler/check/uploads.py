"""Files of requests: they come in a body, under names of their own."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.language.project import Project, Resource, function_of
from bbops.language.resources.endpoint import Endpoint
from bbops.language.resources.function import Function
from bbops.language.steps.return_ import Return
from bbops.runtime.values.units import size_bytes


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield files that no body brings or the input declares too, and file answers to be kept."""
    for endpoint in project.endpoints.values():
        files, method = endpoint.model.files, endpoint.model.method
        if files and method in {"GET", "DELETE"}:
            yield Diagnostic(
                endpoint.place("files", key=True), "no-body",
                f"a {method} has no body, so it has no files", "use another method",
            )  # fmt: skip
        yield from _too_large(endpoint)
        function = project.functions.get(function_of(endpoint))
        if endpoint.model.idempotency and function is not None and _sends_file(function.model):
            yield Diagnostic(
                endpoint.place("idempotency", key=True), "bad-value",
                f"{function.file} returns a file, and responses with files are not kept",
                "remove it, or return a value",
            )  # fmt: skip
        declared = {name.rstrip("?") for name in (function.model.input or {})} if function else ()
        for name in files:
            if function is not None and name.rstrip("?") in declared:
                yield Diagnostic(
                    endpoint.place("files", name, key=True), "duplicate-argument",
                    f"'{name}' is both a file here and a field of 'input' in {function.file}",
                    "remove it from 'input': the file is there by itself",
                )  # fmt: skip


def _too_large(endpoint: Resource[Endpoint]) -> Iterator[Diagnostic]:
    body = endpoint.model.max_body
    for name, file in endpoint.model.files.items():
        if body is not None and size_bytes(file.max_size) > size_bytes(body):
            yield Diagnostic(
                endpoint.place("files", name, "maxSize"), "bad-value",
                f"a file of {file.max_size} can never be uploaded: 'maxBody' is {body}",
                "raise 'maxBody', or remove it",
            )  # fmt: skip


def _sends_file(function: Function) -> bool:
    steps = (step for step in function.every_step if isinstance(step, Return))
    return any(step.return_.file is not None for step in steps)
