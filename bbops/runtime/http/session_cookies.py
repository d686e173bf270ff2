"""Sign-ins that a browser keeps: the token in an HttpOnly cookie, and who may use it from where.

A token among the cookies is sent with whatever any page asks. So a request that changes something
by cookie comes from a page of this origin, or of one that the channel lists with credentials; and
where the project asks for it, it repeats the cookie `csrf`, which is made from the tokens: one of
another sign-in, or one that a sibling domain has planted, does not count.
Source: RFC 6265bis; Fetch Metadata, as Go's `http.CrossOriginProtection` uses it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from bbops.runtime.auth.tokens import Credentials
from bbops.runtime.flow.run import Answer
from bbops.runtime.http.headers import Headers, write
from bbops.runtime.values.failures import Failure, Thrown

CSRF: Final = "csrf"
MAX_COOKIE_BYTES: Final = 4096
"""What every browser keeps of name and value together: RFC 6265 section 6.1."""

Role = Literal["", "begin", "refresh", "logout"]
"""What an endpoint does with a sign-in: login and signup begin one."""

_VALUE: Final = re.compile(r"[!#-+\--:<-\[\]-~]+").fullmatch


@dataclass(frozen=True, slots=True)
class CookieRules:
    """What project.yaml says of the cookies of its sessions; names of headers in lower case."""

    name: str
    same_site: str
    secure: bool
    domain: str | None
    path: str
    token_field: str
    refresh_field: str | None
    refresh_paths: Sequence[str]
    csrf_header: str | None
    expires_seconds: float
    refresh_seconds: float

    @property
    def refresh_name(self) -> str:
        """The cookie of the refresh token; its path is not `/`, as `__Host-` would need."""
        if self.name.startswith("__Host-"):
            return f"__Secure-{self.name.removeprefix('__Host-')}-refresh"
        return f"{self.name}-refresh"


class CookieCredentials(Credentials):
    """Takes the token of a request from its cookie where it has no `authorization` header."""

    __slots__ = ("_name",)

    def __init__(self, schemes: Sequence[str], name: str) -> None:
        """Take the words, and the name of the cookie."""
        super().__init__(schemes)
        self._name = name.encode()

    def find(self, scope: Any) -> str | None:
        """Return the token of a request; one from a cookie is noted as such."""
        for name, _ in scope["headers"]:
            if name == b"authorization":
                return super().find(scope)
        token = read_cookie(scope, self._name)
        if token is not None:
            scope["bbops"].by_cookie = True
        return token


class SessionCookies:
    """What one endpoint of a project with `session.cookie` does about cookies.

    Attributes:
        role: of the endpoint; most have none.
        fills: the field of its input that the refresh token of the cookie stands for, if any.
    """

    __slots__ = ("_from", "_header", "_refresh", "_rules", "fills", "role")

    def __init__(self, rules: CookieRules, role: Role, origins: frozenset[bytes]) -> None:
        """Args: `origins`: those whose pages may send requests with cookies."""
        self._rules, self.role, self._from = rules, role, origins
        self._header = rules.csrf_header.encode() if rules.csrf_header else None
        self._refresh = rules.refresh_name.encode()
        self.fills = rules.refresh_field if role in {"refresh", "logout"} else None

    # ---- before
    def guard(self, scope: Any, token: str | None) -> None:
        """Refuse a change by cookie that a page of another origin may have caused.

        Raises:
            Thrown: 403.
        """
        if scope["bbops"].by_cookie:
            self._check_origin(scope)
            self._check_csrf(scope, token, at=0)

    def open(self, scope: Any) -> str | None:
        """Begin a request to sign in, refresh or sign out; return the refresh token of its cookie.

        Raises:
            Thrown: 403, as `guard`; a page of another origin may not even sign somebody in.
        """
        self._check_origin(scope)
        if self.role == "begin":
            return None
        refresh = read_cookie(scope, self._refresh)
        if refresh is not None:
            self._check_csrf(scope, refresh, at=1)
        if self.role == "logout":
            self._send(scope, self._cleared(scope))
        return refresh

    def _check_origin(self, scope: Any) -> None:
        found: dict[bytes, bytes] = dict(scope["headers"])
        site, origin = found.get(b"sec-fetch-site"), found.get(b"origin")
        if site in {b"same-origin", b"none"} or (origin is not None and origin in self._from):
            return
        if site is None and (origin is None or origin.partition(b"//")[2] == found.get(b"host")):
            return
        raise Thrown(403, "a page of another origin cannot use the session cookie")

    def _check_csrf(self, scope: Any, token: str | None, *, at: int) -> None:
        if self._header is None or token is None:
            return
        given = next((value for name, value in scope["headers"] if name == self._header), b"")
        parts = given.split(b".")
        if len(parts) > at and hmac.compare_digest(parts[at], _mark(token)):
            return
        raise Thrown(
            403,
            f"a request with the session cookie needs '{self._rules.csrf_header}' "
            f"with the cookie '{CSRF}'",
        )

    # ---- after
    def keep(self, scope: Any, answer: Answer) -> Answer:
        """Return the answer with its tokens as cookies; one without tokens stays as it is.

        Raises:
            Failure: a token cannot stand in a cookie.
        """
        status, value, headers, content_type = answer
        rules = self._rules
        is_good = type(status) is int and status < 400 and self.role != "logout"
        if not is_good or type(value) is not dict:
            return answer
        token, refresh = value.get(rules.token_field), value.get(rules.refresh_field or "")
        if type(token) is not str:
            return answer
        if type(refresh) is not str:
            refresh = None
        self._send(scope, [*self._set(scope, token, refresh)])
        hidden = {rules.token_field, rules.refresh_field}
        rest = {name: one for name, one in value.items() if name not in hidden}
        return status, rest, headers, content_type

    def _set(self, scope: Any, token: str, refresh: str | None) -> Iterator[tuple[bytes, bytes]]:
        rules = self._rules
        lasts = _lifetime(token, rules.expires_seconds)
        yield _cookie(scope, rules, rules.name, token, rules.path, lasts)
        kept = refresh
        if refresh is not None:
            for path in rules.refresh_paths:
                yield _cookie(
                    scope, rules, rules.refresh_name, refresh, path, rules.refresh_seconds
                )
        elif self.role == "refresh":
            kept = read_cookie(scope, self._refresh)
        else:  # of the sign-in before: nothing of it is left
            yield from self._forgotten(scope)
        if rules.csrf_header is not None:
            lasts = lasts if kept is None else max(lasts, rules.refresh_seconds)
            mark = b".".join(_mark(one) for one in (token, kept) if one is not None)
            text = mark.decode()
            # the page that reads it may stand anywhere
            yield _cookie(scope, rules, CSRF, text, "/", lasts, is_hidden=False)
            yield rules.csrf_header.encode(), mark

    def _cleared(self, scope: Any) -> Iterator[tuple[bytes, bytes]]:
        rules = self._rules
        yield _cookie(scope, rules, rules.name, "", rules.path, 0)
        yield from self._forgotten(scope)
        if rules.csrf_header is not None:
            yield _cookie(scope, rules, CSRF, "", "/", 0, is_hidden=False)

    def _forgotten(self, scope: Any) -> Iterator[tuple[bytes, bytes]]:
        rules = self._rules
        for path in rules.refresh_paths if rules.refresh_field else ():
            yield _cookie(scope, rules, rules.refresh_name, "", path, 0)

    def _send(self, scope: Any, headers: Iterator[tuple[bytes, bytes]] | Headers) -> None:
        scope["bbops"].lines += write([*headers, (b"cache-control", b"no-store")])


def read_cookie(scope: Any, wanted: bytes) -> str | None:
    """Return the value of a cookie; None where it is missing, or there are several.

    Of several one was planted, by a sibling domain or for another path, and nothing tells which.
    """
    found: set[bytes] = set()
    for name, value in scope["headers"]:
        if name == b"cookie" and wanted in value:
            pairs = (part.partition(b"=") for part in value.split(b";"))
            found |= {text.strip() for key, _, text in pairs if key.strip() == wanted}
    return found.pop().decode("latin-1") or None if len(found) == 1 else None


def _lifetime(token: str, usual_seconds: float) -> float:
    """Return how long a token lasts that has just been issued."""
    part = token.split(".")[1] if token.count(".") == 2 else ""
    try:
        claims = msgspec.json.decode(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        return float(claims["exp"] - claims["iat"])
    except (ValueError, TypeError, KeyError, msgspec.DecodeError):
        return usual_seconds  # it is none of ours


def _mark(token: str) -> bytes:
    """Return what only somebody who was given it can know of a token, and nobody leads back."""
    digest = hashlib.sha256(b"csrf\0" + token.encode("latin-1", "replace")).digest()
    return urlsafe_b64encode(digest[:18])


def _cookie(
    scope: Any, rules: CookieRules, name: str, value: str, path: str, seconds: float, *,
    is_hidden: bool = True,
) -> tuple[bytes, bytes]:  # fmt: skip
    """Return a `set-cookie` header; with 0 seconds the browser forgets the cookie."""
    if value and not _VALUE(value):
        raise Failure(
            "the token cannot be stored in a cookie: it contains characters that tokens do not have"
        )
    if len(name) + len(value) > MAX_COOKIE_BYTES:
        raise Failure(
            f"the token cannot be stored in a cookie: it has {len(value):,} bytes, and browsers"
            f" take {MAX_COOKIE_BYTES:,}; put less into its claims"
        )
    parts = [f"{name}={value}", f"Path={_below(scope, path, name)}", f"Max-Age={int(seconds)}"]
    parts += [f"Domain={rules.domain}"] if rules.domain else []
    parts += ["HttpOnly"] if is_hidden else []
    parts += [f"SameSite={rules.same_site}"] + (["Secure"] if rules.secure else [])
    return b"set-cookie", "; ".join(parts).encode("latin-1")


def _below(scope: Mapping[str, Any], path: str, name: str) -> str:
    """Return a path as the browser knows it: below the prefix of a project that has one."""
    if name.startswith("__Host-"):
        return "/"
    whole: str = scope.get("root_path", "") + path
    return whole.rstrip("/") or "/"
