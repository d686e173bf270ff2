"""Sign in by the project's own login, for one request of the Playground."""

from __future__ import annotations

from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final

import msgspec

from bbops.base.errors import BbopsError
from bbops.review.contract.contract import Contract, Operation, Session
from bbops.review.contract.form_requests import Credential
from bbops.review.replay.sending import Reply

_MAX_TEXT: Final = 200
"""Characters of the login's response that an error repeats."""


def find_login(contract: Contract) -> Operation | None:
    """Return the operation of the project's login; None if `session` names none."""
    wanted = contract.session.login if contract.session is not None else None
    return next((item for item in contract.operations if item.id == wanted), None)


def require_login(contract: Contract) -> Operation:
    """Return the operation of the project's login. Raises: BbopsError: it has none."""
    found = find_login(contract)
    if found is None:
        raise BbopsError(
            "the project has no login", hint="'session: {login: ENDPOINT}' in project.yaml names it"
        )
    return found


def read_credential(contract: Contract, reply: Reply) -> Credential:
    """Return the credential in the response of the login: a token, or the cookie of the session.

    Raises:
        BbopsError: the login has refused, or its response has neither.
    """
    session = contract.session
    if session is None or not 200 <= reply.status < 300:
        raise _refusal(reply)
    token = _find_token(session, reply)
    if token:
        word = session.header.partition(": ")[2].partition(" ")[0]
        return Credential("header", "authorization", f"{word} {token}")
    if session.cookie is not None and (value := _find_cookie(session.cookie.name, reply)):
        return Credential("cookie", session.cookie.name, value)
    raise BbopsError(
        f"the response of the login has no '{_token_field(session)}'",
        hint="'session: {tokenField: NAME}' in project.yaml names the field of the token",
    )


def _token_field(session: Session) -> str:
    return session.token_field or "token"


def _find_token(session: Session, reply: Reply) -> str:
    try:
        body: Any = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    found = body.get(_token_field(session)) if isinstance(body, dict) else None
    return found if isinstance(found, str) else ""


def _find_cookie(name: str, reply: Reply) -> str:
    for header, text in reply.headers:
        if header.lower() != "set-cookie":
            continue
        try:
            cookies = SimpleCookie(text)
        except CookieError:
            continue
        if name in cookies:
            return cookies[name].coded_value
    return ""


def _refusal(reply: Reply) -> BbopsError:
    phrase = HTTPStatus(reply.status).phrase if reply.status in {*HTTPStatus} else ""
    text = " ".join(reply.body.decode(errors="replace").split())
    said = f": {text[:_MAX_TEXT]}" if text else ""
    return BbopsError(
        f"the login answered {reply.status} {phrase}".rstrip() + said,
        hint="nothing else was sent; correct the values of the login",
    )
