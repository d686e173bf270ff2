"""Issue and verify the access tokens of one project (JWT, RFC 7519)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from bbops.host import Clock
from bbops.runtime.failures import FlowError
from bbops.runtime.values import MAX_INTEGER, MAX_TEXT, MIN_INTEGER, check_size, kind, quoted

ALGORITHMS: Final = frozenset(
    (
        "HS256", "HS384", "HS512", "RS256", "RS384", "RS512",
        "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
    )
)  # fmt: skip
MAX_BYTES: Final = 8 * 1024
"""The longest token."""
_MAX_CACHED: Final = 10_000
_OURS: Final = frozenset(("sub", "iat", "exp", "nbf", "iss", "aud", "jti", "email", "role"))
_LATEST: Final = 1e15
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
# The host's clock decides about times, not PyJWT's; see `_read`.
_OPTIONS: Final[Any] = {
    "require": ["exp", "sub"],
    "verify_exp": False,
    "verify_iat": False,
    "verify_nbf": False,
}


class Tokens:
    """One signing key and what has been verified with it; a new key is a new object.

    For an asymmetric algorithm `key` is a PEM: a private key issues and verifies, a public key
    only verifies. Verified tokens are kept until they expire, at most 10,000 of them.
    """

    def __init__(
        self,
        key: str,
        *,
        algorithm: str,
        issuer: str | None = None,
        audience: str | None = None,
        expires_seconds: float,
        clock: Clock,
        user_id_type: Literal["text", "integer"] = "text",
        refresh_seconds: float = 30 * 86_400,
    ) -> None:
        """Prepare the key; a sign-in that is not refreshed for `refresh_seconds` ends.

        Raises:
            ValueError: the algorithm is unknown, or the key does not fit it or is too short.
        """
        self._signing, self._verifying = _read_key(key, algorithm)
        self._algorithm, self._issuer, self._audience = algorithm, issuer, audience
        self._expires_seconds, self._clock = expires_seconds, clock
        self.refresh_seconds = refresh_seconds
        self._is_integer = user_id_type == "integer"
        self._verified: dict[str, tuple[float, dict[str, Any]]] = {}

    def issue(
        self,
        user_id: str | int,
        *,
        email: str | None = None,
        role: str | None = None,
        claims: Mapping[str, Any] | None = None,
        expires_seconds: float | None = None,
    ) -> str:
        """Return a signed token; `claims` stand beside the registered ones.

        Raises:
            FlowError: the user id is no text or whole number, a claim has a registered name, or
                the token would be longer than a server takes.
        """
        if self._signing is None:
            raise FlowError("the project's signing key is public: it only verifies tokens")
        now = int(self._clock.now().timestamp())
        lasts = self._expires_seconds if expires_seconds is None else expires_seconds
        given = {
            "sub": _subject(user_id),
            "iat": now,
            "exp": now + math.ceil(lasts),
            "iss": self._issuer,
            "aud": self._audience,
            "email": email,
            "role": role,
        }
        payload = {name: value for name, value in given.items() if value is not None}
        import jwt  # noqa: PLC0415 - takes 30 ms, and checking a project needs none of it

        token = jwt.encode({**_plain(claims or {}), **payload}, self._signing, self._algorithm)
        if len(token) > MAX_BYTES:
            raise FlowError(
                f"the token is too long: its claims must leave it within {MAX_BYTES} bytes"
            )
        return token

    def verify(self, token: str) -> dict[str, Any] | None:
        """Return {userId, email, role, claims} of a valid token, otherwise None; never raises.

        The dict is shared between calls: do not change it.
        """
        now = self._clock.now().timestamp()
        known = self._verified.get(token)
        if known is None:
            return self._verify_unknown(token, now)
        if known[0] > now:
            return known[1]
        del self._verified[token]
        return None

    def _verify_unknown(self, token: str, now: float) -> dict[str, Any] | None:
        if len(token) > MAX_BYTES:
            return None
        import jwt  # noqa: PLC0415

        try:
            payload = jwt.decode(
                token,
                self._verifying,
                algorithms=[self._algorithm],
                options=_OPTIONS,
                issuer=self._issuer,
                audience=self._audience,
            )
        except Exception:  # noqa: BLE001 - a token is anybody's text: whatever it breaks, it is bad
            return None
        user = self._user(payload, now)
        if user is not None:
            self._remember(token, float(payload["exp"]), user)
        return user

    def _user(self, payload: dict[str, Any], now: float) -> dict[str, Any] | None:
        if not _is_time(payload["exp"]) or payload["exp"] <= now:
            return None
        begins = payload.get("nbf", 0)
        if not _is_time(begins) or begins > now:
            return None
        user_id = _parse_integer(payload["sub"]) if self._is_integer else payload["sub"]
        if user_id is None:
            return None
        return {
            "userId": user_id,
            "email": _text_or_none(payload.get("email")),
            "role": _text_or_none(payload.get("role")),
            "claims": {name: value for name, value in payload.items() if name not in _OURS},
        }

    def _remember(self, token: str, expires: float, user: dict[str, Any]) -> None:
        if len(self._verified) >= _MAX_CACHED:
            del self._verified[next(iter(self._verified))]
        self._verified[token] = (expires, user)


def _read_key(key: str, algorithm: str) -> tuple[Any, Any]:
    """Return the key that signs, None for a public key, and the key that verifies."""
    if algorithm not in ALGORITHMS:
        raise ValueError(f"'{algorithm}' is not one of {quoted(sorted(ALGORITHMS))}")
    import jwt  # noqa: PLC0415

    try:
        prepared: Any = jwt.get_algorithm_by_name(algorithm).prepare_key(key)
    except (jwt.PyJWTError, ValueError, TypeError):
        raise ValueError(f"the signing key does not fit {algorithm}") from None
    if type(prepared) is bytes:
        _check_secret(prepared, algorithm)
        return prepared, prepared
    if hasattr(prepared, "public_key"):
        return prepared, prepared.public_key()
    return None, prepared


def _check_secret(secret: bytes, algorithm: str) -> None:
    least = int(algorithm.removeprefix("HS")) // 8  # RFC 7518 section 3.2
    if len(secret) < least:
        raise ValueError(
            f"the signing key is too short for {algorithm}: {len(secret)} bytes, at least {least}"
        )


def _subject(user_id: Any) -> str:
    if type(user_id) is str or type(user_id) is int:
        return str(user_id)
    raise FlowError(f"'userId' needs text or a whole number, found {kind(user_id)}")


def _plain(claims: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims as JSON values: a datetime as text, a decimal as text."""
    taken = _OURS & claims.keys()
    if taken:
        raise FlowError(f"a claim cannot have a registered name: {quoted(sorted(taken))}")
    check_size(claims, MAX_TEXT)
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(claims))
    return plain


def _is_time(value: Any) -> bool:
    return (type(value) is int or type(value) is float) and abs(value) < _LATEST


def _parse_integer(text: str) -> int | None:
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and MIN_INTEGER <= number <= MAX_INTEGER else None


def _text_or_none(value: Any) -> str | None:
    return value if type(value) is str else None
