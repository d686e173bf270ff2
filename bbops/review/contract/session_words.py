"""Describe how users sign in: the session contract that a frontend follows."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.review.contract.contract import Contract, Cookie, Operation, Session


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
        yield title, f"`{route.method} {route.path}`" if route else _without(key, session)
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
    yield "Cookie", _cookie(cookie) if cookie else "none, the client keeps the token"
    yield "CSRF header", _csrf(session)
    if session.keys:
        yield "Public keys", f"`{session.keys}`, for other programs that verify a token"


def _without(key: str, session: Session) -> str:
    if key == "refresh":
        return "none; when the token has expired, log in again"
    if key == "logout" and session.cookie is None:
        return "none; the client forgets the token"
    return "none"


def _cookie(cookie: Cookie) -> str:
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
