"""The changes to a route if browsers keep the tokens in cookies: its fields have none."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from bbops.language.json_schema import Schema
from bbops.language.project import Project, Route
from bbops.language.resources.project import Session
from bbops.language.steps.verify_jwt import VerifyJwt
from bbops.review.contract.contract import Answer, Body, Example, Parameter


def is_guarded(project: Project, route: Route) -> bool:
    """Return whether a request may be refused because of the page that it comes from."""
    session = _kept_by(project)
    if session is None:
        return False
    by_role = route.endpoint.name in _giving(session) | _taking(session)
    return by_role or _is_change(project, route)


def csrf(project: Project, route: Route) -> tuple[Parameter, ...]:
    """Return the header that repeats the CSRF cookie, if the request needs one."""
    session = _kept_by(project)
    if session is None or session.csrf_header is None or not is_guarded(project, route):
        return ()
    if not _is_change(project, route) and route.endpoint.name not in _taking(session):
        return ()
    about = "the value of the cookie 'csrf'; needed where a cookie says who asks"
    return (Parameter(session.csrf_header, "header", False, {"type": "string"}, about),)  # noqa: FBT003


def body_by_cookie(project: Project, route: Route, body: Body | None) -> Body | None:
    """Return a body whose refresh token is optional, since it comes with a cookie."""
    session = _kept_by(project)
    if body is None or session is None or route.endpoint.name not in _taking(session):
        return body
    needed = [field for field in body.schema.get("required", ()) if field != session.refresh_field]
    schema = {name: value for name, value in body.schema.items() if name != "required"}
    schema |= {"required": needed} if needed else {}
    return Body(body.content_type, bool(needed), schema)


def answers_by_cookie(
    project: Project, route: Route, answers: Iterable[Answer]
) -> tuple[Answer, ...]:
    """Return answers without the tokens, which leave as cookies."""
    session = _kept_by(project)
    if session is None:
        return tuple(answers)
    gives, fields = route.endpoint.name in _giving(session), _fields(session)
    clears = route.endpoint.name == session.logout
    headers = ("set-cookie", *((session.csrf_header.lower(),) if session.csrf_header else ()))
    found = []
    for answer in answers:
        schema, is_good = answer.schema, answer.status is not None and answer.status < 400
        if is_good and gives and schema is not None and _has(schema, fields):
            lacks = _without(schema, fields)
            found.append(replace(answer, schema=lacks, headers=(*answer.headers, *headers)))
        elif is_good and clears:
            found.append(replace(answer, headers=(*answer.headers, "set-cookie")))
        else:
            found.append(answer)
    return tuple(found)


def examples_by_cookie(
    project: Project, route: Route, examples: Iterable[Example]
) -> tuple[Example, ...]:
    """Return examples in the endpoint's form: the tests of its function contain the tokens."""
    session = _kept_by(project)
    if session is None or route.endpoint.name not in _giving(session):
        return tuple(examples)
    fields = _fields(session)
    return tuple(
        replace(example, value={
            name: value for name, value in example.value.items() if name not in fields
        })
        if example.status < 400 and isinstance(example.value, dict) else example
        for example in examples
    )  # fmt: skip


def _is_change(project: Project, route: Route) -> bool:
    """Return whether a cookie may authenticate a change, here or in a step `verifyJwt`."""
    if route.method == "GET":
        return False
    names = (route.function, *route.middleware)
    steps = (step for name in names for step in project.functions[name].model.every_step)
    looks = (isinstance(looked, VerifyJwt) and looked.verify_jwt.token is None for looked in steps)
    return route.authentication in {"JWT", "Optional"} or any(looks)


def _kept_by(project: Project) -> Session | None:
    """Return the session of a project that keeps tokens in cookies."""
    settings = project.settings.model
    has_cookie = settings.session is not None and settings.session.cookie is not None
    return settings.session if has_cookie and settings.auth is not None else None


def _giving(session: Session) -> set[str]:
    return {call for call in (session.login, session.signup, session.refresh) if call}


def _taking(session: Session) -> set[str]:
    return {call for call in (session.refresh, session.logout) if call}


def _fields(session: Session) -> set[str]:
    return {field for field in (session.token_field, session.refresh_field) if field}


def _has(schema: Schema, fields: Collection[str]) -> bool:
    inner = any(_has(part, fields) for part in schema.get("anyOf", ()))
    return inner or any(name in fields for name in schema.get("properties", ()))


def _without(schema: Schema, fields: Collection[str]) -> Schema:
    found = dict(schema)
    if "anyOf" in found:
        found["anyOf"] = [_without(part, fields) for part in found["anyOf"]]
    if "properties" in found:
        kept = {name: inner for name, inner in found["properties"].items() if name not in fields}
        found["properties"] = kept
        needed = [name for name in found.pop("required", ()) if name not in fields]
        found |= {"required": needed} if needed else {}
    return found
