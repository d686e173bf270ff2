"""The values of a route's request, from the shapes of its function and its middleware."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.language.expressions.inside import read_names
from bbops.language.json_schema import Schema, field_schema, shape_schema
from bbops.language.project import Project, Resource, Route
from bbops.language.resources.function import Function
from bbops.language.shape import Field, Shape
from bbops.review.contract.contract import Body, Parameter
from bbops.runtime.values.shapes import EQUAL

PARTS = ("input", "query", "params")
JSON = "application/json"
FORM = "multipart/form-data"
_TEXT: Schema = {"type": "string"}
_KEY = "idempotency-key"
_KEY_SCHEMA: Schema = {**_TEXT, "minLength": 1, "maxLength": 255, "pattern": "^[!#-~]+$"}
_ONCE = "made up by the client: the same request with the same key is carried out once in 24 hours"
_WITHOUT_BODY = frozenset({"GET", "DELETE"})
_KNOWN_HEADERS = frozenset({
    "accept", "authorization", "content-length", "content-type", "cookie", "host", "origin",
    "user-agent", "x-api-key", "idempotency-key",
})  # fmt: skip
"""Headers that clients send automatically, or that the schemes of a route describe."""


def declaring(project: Project, route: Route) -> list[Resource[Function]]:
    """Return the functions whose shapes check a request; the route's own first."""
    names = dict.fromkeys((route.function, *route.middleware))
    return [project.functions[name] for name in names]


def declared_fields(project: Project, route: Route, part: str) -> dict[str, Field]:
    """Return the declared fields of a request, by names as written; a function's own come last.

    Args:
        project: the project of the route.
        route: the route of the request.
        part: one of PARTS.
    """
    found: dict[str, Field] = {}
    for function in reversed(declaring(project, route)):
        shape: Shape = getattr(function.model, part) or {}
        bare = {name.rstrip("?") for name in shape}
        found = {name: field for name, field in found.items() if name.rstrip("?") not in bare}
        found |= shape
    return found


def is_strict(project: Project, route: Route) -> bool:
    """Return whether undeclared names of the query are refused."""
    return any(function.model.strict_query for function in declaring(project, route))


def parameters(project: Project, route: Route) -> Iterator[Parameter]:
    """Yield the parameters of path, query and headers."""
    params = {
        name.rstrip("?"): field for name, field in declared_fields(project, route, "params").items()
    }
    for name in route.parameters:
        field = params.get(name)
        schema = {**_TEXT, "minLength": 1} if field is None else field_schema(field)
        yield _parameter(name, "path", schema, required=True)
    query = declared_fields(project, route, "query")
    for written, field in query.items():
        required = not written.endswith("?") and field.default is None
        schema = field_schema(field)
        if EQUAL in {inner.rstrip("?") for inner in field.fields or {}}:
            told = (schema.get("description", ""), f"Without brackets it is `{EQUAL}`.")
            schema["description"] = " ".join(filter(None, told))
        yield _parameter(written.rstrip("?"), "query", schema, required=required)
    known = {name.rstrip("?") for name in query}
    undeclared = set() if is_strict(project, route) else _read(project, route, "query") - known
    for name in sorted(undeclared):
        yield _parameter(name, "query", dict(_TEXT), required=False)
    if route.endpoint.model.idempotency and route.method != "GET":
        yield Parameter(_KEY, "header", required=False, schema=dict(_KEY_SCHEMA), description=_ONCE)
    for name in sorted(_read(project, route, "headers") - _KNOWN_HEADERS):
        yield _parameter(name, "header", dict(_TEXT), required=False)


def body(project: Project, route: Route) -> Body | None:
    """Return the body of a request; None if the route reads none."""
    if route.method in _WITHOUT_BODY:
        return None
    files, shape = route.endpoint.model.files, route.function
    declared = project.functions[shape].model.input
    if files:
        return _form(declared or {}, {name: file.many for name, file in files.items()})
    if declared is not None:
        schema = shape_schema(declared)
        return Body(JSON, "required" in schema, schema)
    reads = _read(project, route, "request")
    return Body(JSON, required=False, schema={}) if "body" in reads else None


def _form(declared: Shape, files: dict[str, bool]) -> Body:
    schema = shape_schema(declared)
    required = list(schema.get("required", ()))
    for written, many in files.items():
        name, one = written.rstrip("?"), {"type": "string", "format": "binary"}
        schema["properties"][name] = {"type": "array", "items": one} if many else one
        required += [name] if written == name else []
    return Body(FORM, bool(required), schema | ({"required": required} if required else {}))


def _parameter(name: str, place: str, schema: Schema, *, required: bool) -> Parameter:
    described = str(schema.pop("description", ""))
    return Parameter(name, place, required, schema, described)  # type: ignore[arg-type]


def _read(project: Project, route: Route, root: str) -> set[str]:
    steps = [function.model.steps for function in declaring(project, route)]
    return {name for name in read_names(steps, root) if name}
