"""The automatic answers of the server: the possible ones of a route, and their bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic.alias_generators import to_pascal

from bbops.language.expressions.check import check_value
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import ANY, INTEGER, TEXT, map_of
from bbops.language.expressions.values import Value
from bbops.language.json_schema import Schema, type_schema
from bbops.language.project import Project, Resource, Route
from bbops.language.resources.function import Function
from bbops.language.steps._base import Step
from bbops.language.steps.delete import Delete
from bbops.language.steps.find import Find
from bbops.language.steps.insert import Insert
from bbops.language.steps.refresh_auth_token import RefreshAuthToken
from bbops.language.steps.sql import Sql
from bbops.language.steps.update import Update
from bbops.language.steps.validate import Validate
from bbops.language.steps.verify_jwt import VerifyJwt
from bbops.review.contract.outputs import type_of
from bbops.review.contract.requests import PARTS
from bbops.review.contract.sessions import is_guarded
from bbops.runtime.flow.run import code_of, message_of

ERROR: Final[Schema] = {
    "title": "Error",
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "for programs"},
                "message": {"type": "string", "description": "for people"},
                "fields": {
                    "type": "object",
                    "additionalProperties": {"type": "array", "items": {"type": "string"}},
                    "description": "what is wrong with each value, by its path",
                },
                "requestId": {"type": "string", "description": "of a failure, for its log"},
            },
            "required": ["code", "message"],
        }
    },
    "required": ["error"],
}
"""The body of every automatic answer without a wording of the project's own."""

_KEYS: Final = {
    400: "invalid_input", 401: "unauthorized", 403: "forbidden", 404: "not_found", 409: "conflict",
    429: "rate_limited", 500: "server_error",
}  # fmt: skip
_HEADERS: Final[Mapping[int, tuple[str, ...]]] = {
    401: ("www-authenticate",), 429: ("retry-after", "ratelimit", "ratelimit-policy"),
    500: ("x-request-id",), 503: ("retry-after",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Automatic:
    """An answer of the server: `meant` is its status unless the project changes it."""

    meant: int
    status: int
    schema: Schema
    reason: str
    headers: tuple[str, ...]


def automatic(
    project: Project, route: Route, functions: Iterable[Resource[Function]], *, has_body: bool
) -> Iterator[Automatic]:
    """Yield the automatic answers that a route may give, by status.

    Args:
        project: the project of the route.
        route: the route of the request.
        functions: the functions that a request may run.
        has_body: whether the route reads a body.
    """
    functions = list(functions)
    reasons = [*_before(project, route, has_body=has_body), *_inside(functions)]
    for status, reason in sorted(dict.fromkeys(reasons)):
        yield worded(project, status, reason)


def worded(project: Project, status: int, reason: str = "") -> Automatic:
    """Return an automatic answer in the project's wording."""
    errors = project.settings.model.errors
    key = _KEYS.get(status)
    given = (getattr(errors, key) if key else None) or errors.default
    schema, sent, headers = ERROR, status, _HEADERS.get(status, ())
    if given is not None:
        sent = given.status or status
        title = to_pascal(key) if key and getattr(errors, key) else "OtherError"
        schema = ERROR if given.value is None else _schema(given.value, title)
    return Automatic(status, sent, schema, reason, headers)


def error_sample(status: int, message: str = "") -> dict[str, dict[str, str]]:
    """Return a body with the schema ERROR."""
    return {"error": {"code": code_of(status), "message": message or message_of(status)}}


def _schema(value: Value, title: str) -> Schema:
    error = map_of({"code": TEXT, "message": TEXT, "status": INTEGER, "fields": ANY}, "error")
    scope = Scope({"error": error}, lambda *_: None)
    check_value(value, scope)
    found = type_schema(type_of(value, scope))
    return {"title": title, **found} if "properties" in found else found


# ---- the possible ones of a route
def _before(project: Project, route: Route, *, has_body: bool) -> Iterator[tuple[int, str]]:
    """Yield the answers before the function begins, and the failures of any request."""
    yield 500, "an unexpected error"
    yield 503, "unavailable, or it took too long"
    own = [project.functions[name] for name in (route.function, *route.middleware)]
    is_shaped = any(getattr(function.model, part) is not None for function in own for part in PARTS)
    if has_body or is_shaped or any(function.model.strict_query for function in own):
        yield 400, "the request has invalid values"
    if has_body:
        yield 413, "the body is too large"
    if has_body and (own[0].model.input is not None or route.endpoint.model.files):
        yield 415, "the body is neither JSON nor a form"
    if route.authentication == "JWT":
        yield 401, "a valid token is needed"
    if route.authentication == "Optional":
        yield 401, "the token is not valid"
    if route.authentication == "API Key":
        yield 401, "a valid API key is needed"
    session = project.settings.model.session
    signs_in = session is not None and route.endpoint.name in {session.login, session.signup}
    if route.roles:
        yield 403, f"the user has none of the roles {', '.join(sorted(route.roles))}"
    if signs_in or route.rate_limit is not None:
        per = "minute" if route.rate_limit is None or route.rate_limit.per == "1m" else "time"
        yield 429, f"too many requests in the current {per}"
    if route.parameters:
        yield 404, "not found"
    if route.endpoint.model.idempotency and route.method != "GET":
        yield 400, "the Idempotency-Key is invalid"
        yield 409, "the first request with this Idempotency-Key is still running, or was lost"
        yield 422, "another request has used this Idempotency-Key"
    if is_guarded(project, route):
        yield 403, "a request with a cookie comes from a page of another origin"


def _inside(functions: list[Resource[Function]]) -> Iterator[tuple[int, str]]:
    """Yield the answers of steps."""
    for function in functions:
        for step in function.model.every_step:
            for kind, say in _STEPS.items():
                if isinstance(step, kind):
                    yield from say(step)


def _of_find(step: Step) -> Iterator[tuple[int, str]]:
    if isinstance(step, Find) and step.find.one == "required":
        yield 404, "not found"
    if isinstance(step, Find) and step.is_paged:
        yield 400, "the request has invalid values"


def _of_change(step: Step) -> Iterator[tuple[int, str]]:
    yield 409, "a constraint of the data was violated"
    if not isinstance(step, Delete):
        yield 400, "the request has invalid values"
    one = getattr(getattr(step, step.key, None), "one", False)
    if one == "required":
        yield 404, "not found"


def _of_sql(step: Step) -> Iterator[tuple[int, str]]:
    if isinstance(step, Sql) and step.sql.mode == "write":
        yield from _of_change(step)
    elif isinstance(step, Sql) and step.sql.one == "required":
        yield 404, "not found"


def _of_shape(_: Step) -> Iterator[tuple[int, str]]:
    yield 400, "the request has invalid values"


def _of_token(_: Step) -> Iterator[tuple[int, str]]:
    yield 401, "a valid token is needed"


_STEPS: Final[dict[type[Step], Callable[[Step], Iterator[tuple[int, str]]]]] = {
    Find: _of_find, Insert: _of_change, Update: _of_change, Delete: _of_change, Sql: _of_sql,
    Validate: _of_shape, VerifyJwt: _of_token, RefreshAuthToken: _of_token,
}  # fmt: skip
