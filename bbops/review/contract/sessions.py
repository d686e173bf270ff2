"""The session contract: how users sign in, by token or by cookie, and its description."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from bbops.language.json_schema import Schema
from bbops.language.project import Project, Resource, Route
from bbops.language.resources.function import Function
from bbops.language.resources.project import Refresh
from bbops.language.resources.project import Session as SessionSettings
from bbops.language.steps.verify_jwt import VerifyJwt
from bbops.review.contract.contract import (
    Answer,
    Body,
    Contract,
    Cookie,
    Example,
    Operation,
    Parameter,
    Scheme,
    Session,
)
from bbops.runtime.auth.keys import MAKING
from bbops.runtime.auth.tokens import PATH
from bbops.runtime.identities.kinds import PATH as SIGN_INS

BEARER, COOKIE, KEY_HEADER, KEY_QUERY = "bearer", "session", "apiKey", "apiKeyInQuery"


def session(project: Project, published: Collection[str]) -> Session | None:
    """Return how users sign in; None if the project signs no tokens.

    Args:
        project: the project with the settings.
        published: the endpoints that may be named.
    """
    settings = project.settings.model
    auth, given = settings.auth, settings.session
    if auth is None:
        return None
    has_refresh = given is not None and given.refresh is not None

    def find(key: str) -> str | None:
        name: str | None = getattr(given, key, None)
        return operation_id(name) if name is not None and name in published else None

    return Session(
        login=find("login"),
        signup=find("signup"),
        refresh=find("refresh"),
        logout=find("logout"),
        token_field=given.token_field if given else None,
        refresh_field=given.refresh_field if given else None,
        header=f"authorization: {auth.schemes[0]} <token>",
        expires_in=auth.expires_in,
        refresh_expires_in=(auth.refresh or Refresh()).expires_in if has_refresh else None,
        cookie=_cookie(project),
        csrf_header=given.csrf_header if given else None,
        keys=PATH if auth.algorithm in MAKING else None,
        providers=tuple(f"{SIGN_INS}{name}" for name in sorted(auth.providers)),
    )


def operation_id(endpoint: str) -> str:
    """Return the id of an endpoint's operation: `notes.addTag` for `notes/add-tag`.

    No two endpoints share one: names have lower-case letters, digits and dashes only.
    """
    return ".".join(_camel(part) for part in endpoint.split("/"))


def endpoint_name(operation: str) -> str:
    """Return the endpoint of an operation's id: `notes/add-tag` for `notes.addTag`."""
    return "/".join(
        re.sub(r"[A-Z]|_", lambda match: f"-{match[0].lower().strip('_')}", part)
        for part in operation.split(".")
    )


def _camel(segment: str) -> str:
    first, *rest = segment.split("-")
    return first + "".join(word.capitalize() if word[:1].isalpha() else f"_{word}" for word in rest)


def _cookie(project: Project) -> Cookie | None:
    given = project.settings.model.session
    if given is None or given.cookie is None:
        return None
    one = given.cookie
    return Cookie(one.name, one.same_site, one.secure, one.domain, one.path)


# ---- authentication
def schemes_of(
    project: Project, route: Route, functions: Iterable[Resource[Function]]
) -> tuple[tuple[str, ...], bool]:
    """Return the schemes of which one is enough, and whether the route is open as well.

    A function that checks the request's token itself makes an open route accept tokens.
    """
    if route.authentication == "API Key":
        return (KEY_HEADER, KEY_QUERY), False
    token = token_schemes(project)
    if route.authentication in {"JWT", "Optional"}:
        return token, route.authentication == "Optional"
    steps = [step for function in functions for step in function.model.every_step]
    checks = [
        check for check in steps if isinstance(check, VerifyJwt) and check.verify_jwt.token is None
    ]
    return (token if checks else ()), True


def token_schemes(project: Project) -> tuple[str, ...]:
    """Return the schemes that carry the token of the signed-in user."""
    return (BEARER, COOKIE) if _cookie(project) else (BEARER,)


def schemes(project: Project, used: Collection[str]) -> tuple[Scheme, ...]:
    """Return the descriptions of the schemes that routes use."""
    settings = project.settings.model
    words = " or ".join(settings.auth.schemes) if settings.auth else "Bearer"
    cookie = _cookie(project)
    every = (
        Scheme(BEARER, "bearer", "authorization", f"{words}, and a token from signing in"),
        Scheme(COOKIE, "cookie", cookie.name if cookie else "", "the cookie that login sets"),
        Scheme(KEY_HEADER, "header", "X-API-Key", "an API key of this project"),
        Scheme(KEY_QUERY, "query", "api_key", "the same key, where no header can be set"),
    )
    return tuple(scheme for scheme in every if scheme.name in used)


def session_lines(contract: Contract) -> list[str]:
    """Return the lines of a Markdown list; empty if the project has no sign-in."""
    session = contract.session
    if session is None:
        return []
    routes = {operation.id: operation for operation in contract.operations}
    return [f"- {name}: {text}" for name, text in _facts(session, routes)]


def _facts(session: Session, routes: dict[str, Operation]) -> Iterator[tuple[str, str]]:
    names = {"Login": "login", "Signup": "signup", "Refresh": "refresh", "Logout": "logout"}
    for title, key in names.items():
        route = routes.get(getattr(session, key) or "")
        yield title, f"`{route.method} {route.path}`" if route else _missing_route(key, session)
    for path in session.providers:
        yield "Sign-in elsewhere", f"open `{path}?return=/`, which leads back with the cookie"
    if session.token_field:
        yield "Token field", f"`{session.token_field}`"
    if session.refresh_field:
        yield "Refresh field", f"`{session.refresh_field}`"
    yield "Protected header", f"`{session.header}`"
    yield "Expiry", f"`{session.expires_in}`"
    if session.refresh_expires_in:
        yield "Expiry of a sign-in that is not used", f"`{session.refresh_expires_in}`"
    cookie = session.cookie
    yield "Cookie", _cookie_text(cookie) if cookie else "none, the client keeps the token"
    yield "CSRF header", _csrf(session)
    if session.keys:
        yield "Public keys", f"`{session.keys}`, for other programs that verify a token"


def _missing_route(key: str, session: Session) -> str:
    if key == "refresh":
        return "none; when the token has expired, log in again"
    if key == "logout" and session.cookie is None:
        return "none; the client forgets the token"
    return "none"


def _cookie_text(cookie: Cookie) -> str:
    parts = [
        f"`{cookie.name}`", "HttpOnly", f"SameSite {cookie.same_site}",
        "Secure" if cookie.secure else "not Secure", f"path `{cookie.path}`",
        f"domain `{cookie.domain}`" if cookie.domain else "",
    ]  # fmt: skip
    return ", ".join(filter(None, parts)) + "; requests use `credentials: include`"


def _csrf(session: Session) -> str:
    if session.csrf_header is None:
        return "none"
    return (
        f"`{session.csrf_header}`, with the value of the cookie `csrf`, where something changes;"
        " the answer that signs in has the same header"
    )


# ---- The changes to a route if browsers keep the tokens in cookies: its fields have none


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
            lacks = _without_fields(schema, fields)
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


def _kept_by(project: Project) -> SessionSettings | None:
    """Return the session of a project that keeps tokens in cookies."""
    settings = project.settings.model
    has_cookie = settings.session is not None and settings.session.cookie is not None
    return settings.session if has_cookie and settings.auth is not None else None


def _giving(session: SessionSettings) -> set[str]:
    return {call for call in (session.login, session.signup, session.refresh) if call}


def _taking(session: SessionSettings) -> set[str]:
    return {call for call in (session.refresh, session.logout) if call}


def _fields(session: SessionSettings) -> set[str]:
    return {field for field in (session.token_field, session.refresh_field) if field}


def _has(schema: Schema, fields: Collection[str]) -> bool:
    inner = any(_has(part, fields) for part in schema.get("anyOf", ()))
    return inner or any(name in fields for name in schema.get("properties", ()))


def _without_fields(schema: Schema, fields: Collection[str]) -> Schema:
    found = dict(schema)
    if "anyOf" in found:
        found["anyOf"] = [_without_fields(part, fields) for part in found["anyOf"]]
    if "properties" in found:
        kept = {name: inner for name, inner in found["properties"].items() if name not in fields}
        found["properties"] = kept
        needed = [name for name in found.pop("required", ()) if name not in fields]
        found |= {"required": needed} if needed else {}
    return found
