"""Functions: every name, table, column and function in their steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from bbops.diagnostics import Diagnostic
from bbops.expressions.scope import Report, Scope
from bbops.expressions.types import ANY, TEXT, Type, map_of
from bbops.project import Project, Resource, Route
from bbops.resources._shape import Shape, shape_types
from bbops.resources.function import Function
from bbops.steps._base import Checking, Signature, Step
from bbops.yaml.document import Mark

_LATER = {
    "env": "declare it under 'env' in project.yaml",
    "event": "only functions of triggers have an event",
    "trigger": "only functions of triggers have it",
    "error": "only 'catch' has it",
    "row": "only 'where', and single columns of 'update' and 'do', have the stored row",
}
_REQUEST = map_of(dict.fromkeys(("id", "method", "path", "url", "ip", "body"), TEXT), "request")


@dataclass(frozen=True, slots=True)
class CheckedFlow:
    """A function whose names are resolved: the types of its expressions, and its mistakes.

    `reads` are (kind, name) of the resources it was checked against, `inherits` the variables
    that middleware may have set before it runs.
    """

    scope: Scope
    diagnostics: tuple[Diagnostic, ...]
    reads: frozenset[tuple[str, str]]
    inherits: frozenset[str]


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield the mistakes of every function."""
    for name in project.functions:
        yield from check_flow(project, name).diagnostics


def check_flow(project: Project, name: str) -> CheckedFlow:
    """Check one function in its surroundings. O(steps), once per project."""
    found = project.memo.get(name)
    if not isinstance(found, CheckedFlow):
        project.memo[name] = None  # under way: middleware that meets itself sees no types
        found = project.memo[name] = _check_flow(project, name)
    return found


def _check_flow(project: Project, name: str) -> CheckedFlow:
    function = project.functions[name]
    found: list[Diagnostic] = []

    def report(mark: Mark | None, offset: int, code: str, message: str, hint: str) -> None:
        place = function.at(mark, offset) if mark else function.at(current.step)
        found.append(Diagnostic(place, code, message, hint))

    scope = _scope(project, function, report)
    inherits = frozenset(scope.vars)
    current = Checking(scope, project.sql_tables, _Signatures(project), None, broken=project.broken)
    found += _bodies(project, function)
    found += _middleware(project, function)
    for step in function.model.steps:
        current = replace(current, step=step.mark)
        current.one(step)
    return CheckedFlow(scope, tuple(found), frozenset(current.reads), inherits)


def _scope(project: Project, function: Resource[Function], report: Report) -> Scope:
    model, routes = function.model, project.routes_of(function.name)
    is_before = function.name in project.middleware
    roots: dict[str, Type] = {
        "env": _env(project),
        "headers": map_of({}, "headers", rest=TEXT.or_null()),
        "request": _REQUEST,
        "query": _given(None if is_before else model.query, "query", open_=bool(routes)),
        "params": _params(None if is_before else model.params, routes),
        "input": _given(None if is_before else model.input, "input", open_=False),
    }
    missing = dict(_LATER)
    if is_before:
        missing["input"] = "middleware runs before the body is read"
    elif model.input is None:
        missing["input"] = "declare its fields under 'input' of this function"
    if not model.params and not routes:
        missing["params"] = "declare them under 'params' of this function"
    refused = _no_auth(project, function.name, routes)
    if refused:
        missing["vars.auth"] = refused
    else:
        roots["auth"] = _auth(project)
    if project.settings.model.auth is None:
        missing["no-auth"] = "add 'auth: { signingKey: … }' to project.yaml"
    return Scope(roots, report, _before(project, function.name, routes), missing=missing)


def _no_auth(project: Project, name: str, routes: tuple[Route, ...]) -> str:
    """Return why a function has no `vars.auth`; empty when every way to it has JWT."""
    for route in routes:
        if route.authentication != "JWT":
            return f"endpoint '{route.endpoint.name}' has authentication: {route.authentication}"
    if name in project.callers:
        caller = project.callers[name]
        return f"function '{caller}' calls this one; hand the user over as 'input'"
    return ""


def _env(project: Project) -> Type:
    fields: dict[str, Type] = {}
    for name, variable in project.settings.model.env.items():
        of = replace(TEXT, private=True) if variable.secret else TEXT
        given = variable.required or variable.default is not None or variable.generate
        fields[name] = of if given else of.or_null()
    return map_of(fields, "env")


def _auth(project: Project) -> Type:
    user = TEXT
    auth = project.settings.model.auth
    table = project.sql_tables.get(auth.users or "") if auth else None
    if table is not None and len(table.key) == 1:
        user = table.columns[table.key[0]].value_type
    fields = {"userId": user, "email": TEXT.or_null(), "role": TEXT.or_null(), "claims": ANY}
    return map_of(fields, "vars.auth")


def _given(shape: Shape | None, what: str, *, open_: bool) -> Type:
    return map_of(shape_types(shape or {}), what, rest=TEXT.or_null() if open_ else None)


def _params(shape: Shape | None, routes: tuple[Route, ...]) -> Type:
    found = dict.fromkeys((name for route in routes for name in route.parameters), TEXT)
    return map_of({**found, **shape_types(shape or {})}, "params")


def _before(project: Project, name: str, routes: tuple[Route, ...]) -> dict[str, Type]:
    """Return the variables that middleware has set before this function runs."""
    found: dict[str, Type] = {}
    for route in routes:
        chain = route.middleware
        if name in chain:
            chain = chain[: chain.index(name)]
        for function in chain:
            if function in project.functions:
                found |= _left_by(project, function)
    return found


def _left_by(project: Project, middleware: str) -> dict[str, Type]:
    names = set(variables(project.functions[middleware].model.steps))
    under_way = middleware in project.memo and project.memo[middleware] is None
    types = {} if under_way else check_flow(project, middleware).scope.vars
    return {name: types.get(name, ANY) for name in names}


def variables(steps: Iterable[Step]) -> Iterator[str]:
    """Yield every variable that steps set, at any depth."""
    for step in steps:
        yield from step.sets()
        for block in step.blocks():
            yield from variables(block)


class _Signatures(Mapping[str, Signature]):
    """Signatures made only for the functions that are called."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def __getitem__(self, name: str) -> Signature:
        model = self.project.functions[name].model
        return Signature(
            {part: _names(getattr(model, part)) for part in ("input", "params", "query")}
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.project.functions)

    def __len__(self) -> int:
        return len(self.project.functions)


def _names(shape: Shape | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    declared = tuple(name.rstrip("?") for name in shape or {})
    required = tuple(
        name for name, field in (shape or {}).items()
        if not name.endswith("?") and field.default is None
    )  # fmt: skip
    return declared, required


def _middleware(project: Project, function: Resource[Function]) -> Iterator[Diagnostic]:
    if function.name not in project.middleware:
        return
    for part in ("input", "query", "params"):
        if getattr(function.model, part) is not None:
            yield Diagnostic(
                function.place(part, key=True), "middleware",
                f"middleware declares no '{part}': it runs before the request's values are typed",
                "read 'query' and 'params' as texts here, and type them with a filter",
            )  # fmt: skip


def _bodies(project: Project, function: Resource[Function]) -> Iterator[Diagnostic]:
    if function.model.input is None:
        return
    for route in project.routes_of(function.name):
        is_own = route.endpoint.model.function == function.name
        if is_own and route.method in {"GET", "DELETE"}:
            yield Diagnostic(
                route.endpoint.place("method"), "no-body",
                f"a {route.method} has no body, but function '{function.name}' declares 'input'",
                "use 'query' or 'params', or another method",
            )  # fmt: skip
