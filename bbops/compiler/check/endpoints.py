"""Endpoints: bodies, parameters, queries, files, middleware, streams, and descriptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bbops.base.diagnostics import Diagnostic
from bbops.base.names import INLINE, title_of
from bbops.compiler.check._checked import CheckedProject
from bbops.language.expressions.inside import read_names
from bbops.language.project import Project, Resource, Route, function_of
from bbops.language.resources.endpoint import Endpoint
from bbops.language.resources.function import Function
from bbops.language.shape import Field
from bbops.language.steps.return_ import Return
from bbops.runtime.values.units import size_bytes

_NO_BODY: Final = frozenset({"GET", "DELETE"})


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield parts of requests and responses that cannot be, or have no effect."""
    yield from _check_bodies(project)
    yield from _check_parameters(project)
    yield from _check_queries(project)
    yield from _check_uploads(project)
    yield from _check_middleware(project)
    yield from _check_streams(project)
    yield from _check_descriptions(project)


def _check_bodies(project: Project) -> Iterator[Diagnostic]:
    """Yield keys without an effect under a method that has no body or only reads."""
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


def _check_parameters(project: CheckedProject) -> Iterator[Diagnostic]:
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


def _check_queries(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield fields that no name in brackets could be, and names that are read and refused."""
    for function in project.functions.values():
        for name, field in (function.model.query or {}).items():
            for inner, one in (field.fields or {}).items():
                if _has_parts(one):
                    yield _too_deep(function, name, inner)
    told: set[tuple[str, str]] = set()
    for route in project.routes:
        yield from _refused(project, route, told)


def _has_parts(field: Field) -> bool:
    """Return whether the values of a field cannot each be one text."""
    base, many, _ = field.parts
    if base == "list" and field.items is not None:
        base, many, _ = field.items.parts
        return many or base in {"list", "object"}
    return base == "object"


def _too_deep(function: Resource[Function], name: str, inner: str) -> Diagnostic:
    shown = f"{name.rstrip('?')}[{inner.rstrip('?')}]"
    return Diagnostic(
        function.place("query", name, "fields", inner), "query-fields",
        f"'{shown}' has fields of its own, and a query has one level of them",
        "write a type, such as 'string', or 'string[]' for a list",
    )  # fmt: skip


def _refused(
    project: CheckedProject, route: Route, told: set[tuple[str, str]]
) -> Iterator[Diagnostic]:
    """Yield query parameters that one function of a route reads and another rejects."""
    names = dict.fromkeys((route.function, *route.middleware))
    every = [project.functions[name] for name in names if name in project.functions]
    strict = [function for function in every if function.model.strict_query]
    declared = {name.rstrip("?") for function in every for name in function.model.query or {}}
    for function in every if strict else ():
        if function in strict:
            continue  # what it reads itself is told as an unknown field
        for name in sorted({*read_names(function.model.steps, "query")} - declared - {""}):
            if (function.name, name) not in told:
                told.add((function.name, name))
                yield Diagnostic(
                    strict[0].place("strictQuery"), "strict-query",
                    f"{title_of(function.name)} reads query '{name}', which no shape declares, so"
                    " 'strictQuery' refuses it",
                    f"declare '{name}?: string' under 'query' in {function.file}",
                )  # fmt: skip


def _check_uploads(project: Project) -> Iterator[Diagnostic]:
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


def _check_middleware(project: Project) -> Iterator[Diagnostic]:
    """Yield the `input` that a function declares in vain, since it runs as middleware."""
    for name in sorted(project.middleware & project.functions.keys()):
        function = project.functions[name]
        if function.model.input is not None:
            yield Diagnostic(
                function.place("input", key=True), "middleware",
                "middleware declares no 'input': it runs before the body is read",
                "read 'query', 'params' and 'headers' here",
            )  # fmt: skip


_STREAM_HINT = "return the step's result as a 'value' there"


def _check_streams(project: Project) -> Iterator[Diagnostic]:
    """Yield each endpoint that would have to keep, or to read, an answer that is a stream."""
    session = project.settings.model.session
    named = () if session is None else (
        ("login", session.login), ("signup", session.signup), ("refresh", session.refresh),
        ("logout", session.logout),
    )  # fmt: skip
    for endpoint in project.endpoints.values():
        function = project.functions.get(function_of(endpoint))
        if function is None or not any(
            isinstance(step, Return) and step.return_.stream is not None
            for step in function.model.every_step
        ):
            continue
        if endpoint.model.idempotency:
            yield Diagnostic(
                endpoint.place("idempotency", key=True), "stream-place",
                f"'idempotency' keeps answers, and {function.file} answers with a 'stream'",
                _STREAM_HINT,
            )  # fmt: skip
        for key, name in named:
            if name == endpoint.name:
                yield Diagnostic(
                    project.settings.place("session", key), "stream-place",
                    f"'{key}' reads tokens in answers, and {function.file} answers with a 'stream'",
                    _STREAM_HINT,
                )  # fmt: skip


def _check_descriptions(project: Project) -> Iterator[Diagnostic]:
    """Yield a warning for each visible endpoint that does not say what it does."""
    for endpoint in project.endpoints.values():
        model = endpoint.model
        if model.docs_visibility == "visible" and not model.description:
            yield Diagnostic(
                endpoint.place(), "no-description", "the endpoint has no 'description'",
                "describe what it does for callers, or set 'docsVisibility: hidden'",
                severity="warning",
            )  # fmt: skip
