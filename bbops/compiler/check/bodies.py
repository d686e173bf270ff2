"""What is said of a body, or of a change, is said of methods that have one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bbops.base.diagnostics import Diagnostic
from bbops.base.names import INLINE, title_of
from bbops.language.project import Project, Resource
from bbops.language.resources.endpoint import Endpoint

_NO_BODY: Final = frozenset({"GET", "DELETE"})


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield what a method without a body, or one that only reads, leaves without an effect."""
    for endpoint in project.endpoints.values():
        yield from _without_effect(endpoint)
    for route in project.routes:
        name = route.function
        function = project.functions.get(name)
        if function is None or function.model.input is None:
            continue
        if route.method in _NO_BODY:
            yield Diagnostic(
                route.endpoint.place("method"), "no-body",
                f"a {route.method} has no body, but {_who(name)} declares 'input'",
                "use 'query' or 'params', or another method",
            )  # fmt: skip


def _who(function: str) -> str:
    return "the endpoint" if function.startswith(INLINE) else title_of(function)


def _without_effect(endpoint: Resource[Endpoint]) -> Iterator[Diagnostic]:
    method = endpoint.model.method
    if endpoint.model.max_body is not None and method in _NO_BODY:
        yield Diagnostic(
            endpoint.place("maxBody", key=True), "no-body",
            f"'maxBody' has no effect here: a {method} has no body",
            "remove it, or use another method",
        )  # fmt: skip
    if endpoint.model.idempotency and method == "GET":
        yield Diagnostic(
            endpoint.place("idempotency", key=True), "bad-value",
            "'idempotency' has no effect on a GET: only requests that change something are kept",
            "leave it out",
        )  # fmt: skip
