"""How users sign in and authenticate: the session contract, and the schemes of routes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from bbops.language.project import Project, Resource, Route
from bbops.language.resources.function import Function
from bbops.language.resources.project import Refresh
from bbops.language.steps.verify_jwt import VerifyJwt
from bbops.review.contract.contract import Cookie, Scheme, Session
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
