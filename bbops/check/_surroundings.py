"""What a function may read, by what runs it: requests, middleware, other functions.

A new kind of resource that runs functions adds its names here (`event`, `trigger`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bbops.expressions.types import ANY, TEXT, Type, map_of
from bbops.project import Project, Resource, Route
from bbops.resources._shape import Shape, shape_types
from bbops.resources.function import Function
from bbops.steps._checking import Arguments

_LATER = {
    "env": "declare it under 'env' in project.yaml",
    "event": "only functions of triggers have an event",
    "trigger": "only functions of triggers have it",
    "error": "only 'catch' has it",
    "row": "only 'where', and single columns of 'update' and 'do', have the stored row",
}
_REQUEST = map_of(dict.fromkeys(("id", "method", "path", "url", "ip", "body"), TEXT), "request")
_HEADERS = map_of({}, "headers", rest=TEXT.or_null())
PARTS = ("input", "params", "query")
"""What a function is given, by a request or a call."""


def readable(project: Project, name: str, private: Arguments) -> dict[str, Type]:
    """Return the types of `input`, `params`, `env` … for one function.

    Args:
        private: arguments that hold something private, in a call that gives them.
    """
    model, routes = project.functions[name].model, project.routes_of(name)
    is_before = name in project.middleware
    found = {
        "env": _once(project, "env", _env),
        "headers": _HEADERS,
        "request": _REQUEST,
        "query": _given(None if is_before else model.query, "query", open_=bool(routes)),
        "params": _params(project, name, None if is_before else model.params),
        "input": _given(None if is_before else model.input, "input", open_=False),
    }
    if not why_no_auth(project, name):
        found["auth"] = _once(project, "auth", _auth)
    for part, argument in private:
        fields = found[part].fields or {}
        if argument in fields:
            of = replace(fields[argument], private=True)
            found[part] = replace(found[part], fields={**fields, argument: of})
    return found


def missing(project: Project, function: Resource[Function]) -> dict[str, str]:
    """Return why names that exist elsewhere do not exist in this function, for hints."""
    model, routes = function.model, project.routes_of(function.name)
    found = dict(_LATER)
    if function.name in project.middleware:
        found["input"] = "middleware runs before the body is read"
    elif model.input is None:
        found["input"] = "declare its fields under 'input' of this function"
    if not model.params and not routes:
        found["params"] = "declare them under 'params' of this function"
    if why := why_no_auth(project, function.name):
        found["vars.auth"] = why
    if project.settings.model.auth is None:
        found["no-auth"] = "add 'auth: { signingKey: … }' to project.yaml"
    return found


def why_no_auth(project: Project, name: str) -> str:
    """Return why a function has no `vars.auth`; empty when every way to it has JWT."""
    for route in project.routes_of(name):
        if route.authentication != "JWT":
            return f"endpoint '{route.endpoint.name}' has authentication: {route.authentication}"
    if name in project.callers:
        caller = project.callers[name]
        return f"function '{caller}' calls this one; hand the user over as 'input'"
    return ""


def arguments(model: Function) -> tuple[dict[str, Type], Arguments]:
    """Return what a call may give a function, and what it must."""
    shapes: dict[str, Shape] = {part: getattr(model, part) or {} for part in PARTS}
    types = {part: map_of(shape_types(shape, given=True)) for part, shape in shapes.items()}
    required = {
        (part, name) for part, shape in shapes.items() for name, field in shape.items()
        if not name.endswith("?") and field.default is None
    }  # fmt: skip
    return types, frozenset(required)


def chain_before(route: Route, name: str) -> tuple[str, ...]:
    """Return the middleware that runs before a function on a route."""
    chain = route.middleware
    return chain[: chain.index(name)] if name in chain else chain


def _once(project: Project, what: str, make: Callable[[Project], Type]) -> Type:
    """Return a type that all functions share, made once per project."""
    found = project.memo.get(what)
    if not isinstance(found, Type):
        found = project.memo[what] = make(project)
    return found


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


def _params(project: Project, name: str, shape: Shape | None) -> Type:
    """A path parameter that is not declared may be null where not every way here has it."""
    routes, found = project.routes_of(name), {}
    for parameter in dict.fromkeys(one for route in routes for one in route.parameters):
        always = all(parameter in route.parameters for route in routes)
        sure = always and name not in project.callers
        found[parameter] = TEXT if sure else TEXT.or_null()
    return map_of({**found, **shape_types(shape or {})}, "params")
