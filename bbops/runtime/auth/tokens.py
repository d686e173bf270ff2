"""Access tokens of a project (JWT, RFC 7519): issued, verified, read, and their public keys."""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Literal

import msgspec

from bbops.base.host import Clock
from bbops.runtime.auth.key_sets import KeySet
from bbops.runtime.auth.keys import VerifyingKey, name_key, read_key, to_jwk
from bbops.runtime.values.failures import BadValue, FlowError, WrongKind
from bbops.runtime.values.values import MAX_INTEGER, MAX_TEXT, MIN_INTEGER, check_size, kind, quoted

MAX_BYTES: Final = 8 * 1024
"""The longest token."""
MAX_TRIED: Final = 8
"""Keys that one token is tried with."""
_MAX_CACHED: Final = 10_000
_MAX_KID: Final = 200
_OURS: Final = frozenset(("sub", "iat", "exp", "nbf", "iss", "aud", "jti", "email", "role"))
_LATEST: Final = 1e15
LEEWAY_SECONDS: Final = 10.0
"""How far the clock of an issuer may be ahead of ours, for `nbf` and `iat`."""
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
# The host's clock decides about times, not PyJWT's, and integers count as texts; see `_user`.
_OPTIONS: Final[Any] = {
    "require": ["exp", "sub"],
    "verify_exp": False,
    "verify_iat": False,
    "verify_nbf": False,
    "verify_sub": False,
    "verify_jti": False,
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
        others: Sequence[VerifyingKey] = (),
        sets: Sequence[KeySet] = (),
    ) -> None:
        """Prepare the key; a sign-in that is not refreshed for `refresh_seconds` ends.

        Args:
            others: keys whose tokens count too.
            sets: keys that others publish.

        Raises:
            ValueError: the algorithm is unknown, or the key does not fit it or is too weak.
        """
        self._signing, verifying = read_key(key, algorithm)
        self._name, self._algorithm = name_key(verifying, algorithm), algorithm
        self.known = (VerifyingKey(verifying, algorithm), *others)
        self.sets = tuple(sets)
        for one in self.sets:
            one.on_change = self._forget
        self._issuer, self._audience = issuer, audience
        self._expires_seconds, self._clock = expires_seconds, clock
        self.refresh_seconds = refresh_seconds
        self._is_integer = user_id_type == "integer"
        self._verified: dict[str, tuple[float, dict[str, Any]]] = {}
        self.rejection = ""
        """Why the token that was rejected last was: for the log, never for an answer."""

    def issue(
        self,
        user_id: str | int,
        *,
        email: str | None = None,
        role: str | None = None,
        claims: Mapping[str, Any] | None = None,
        expires_seconds: float | None = None,
        token_id: str | None = None,
    ) -> str:
        """Return a signed token; `claims` stand beside the registered ones.

        Args:
            token_id: tells it from another one of the same second.

        Raises:
            FlowError: the user id is no text or whole number, a claim has a registered name, or
                the token would be longer than a server takes.
        """
        if self._signing is None:
            raise FlowError("the project's signing key is public: it can only verify tokens")
        now = int(self._clock.now().timestamp())
        lasts = self._expires_seconds if expires_seconds is None else expires_seconds
        given = {
            "sub": _subject(user_id),
            "iat": now,
            "exp": now + math.ceil(lasts),
            "iss": self._issuer,
            "aud": self._audience,
            "jti": token_id,
            "email": email,
            "role": role,
        }
        payload = {name: value for name, value in given.items() if value is not None}
        import jwt  # noqa: PLC0415 - see `bbops.runtime.auth.keys`

        whole = {**_plain(claims or {}), **payload}
        token = jwt.encode(whole, self._signing, self._algorithm, headers={"kid": self._name})
        if len(token) > MAX_BYTES:
            raise BadValue(
                f"the token is too long: its claims must leave it within {MAX_BYTES} bytes"
            )
        return token

    @property
    def is_public(self) -> bool:
        """Whether the key only verifies."""
        return self._signing is None

    def verify(self, token: str) -> dict[str, Any] | None:
        """Return {userId, email, role, claims} of a valid token, otherwise None; never raises.

        `rejection` then has the reason, without any value of the token. The dict is shared between
        calls: do not change it.
        """
        now = self._clock.now().timestamp()
        known = self._verified.get(token)
        if known is None:
            return self._verify_unknown(token, now)
        if known[0] > now:
            return known[1]
        del self._verified[token]
        self.rejection = _OVER
        return None

    def ends_at(self, token: str) -> float | None:
        """Return when a valid token ends, in seconds since 1970; otherwise None."""
        return self._verified[token][0] if self.verify(token) is not None else None

    async def prepare(self, token: str) -> None:
        """Look for the key that a token names, if others may have published it since."""
        named = _read_head(token) if token not in self._verified else None
        if named is None:
            return
        for one in self.sets:
            if one.algorithm == named[0] and not any(key.fits(*named) for key in one.keys):
                await one.look_again()

    def _verify_unknown(self, token: str, now: float) -> dict[str, Any] | None:
        named = _read_head(token)
        if named is None:
            self.rejection = "it is not a JWT, or its head has something that is not accepted"
            return None
        self.rejection = "no key is known for its 'alg' and 'kid'"
        for key in self._keys(*named):
            payload = self._decode(token, key)
            if payload is not None:
                user = self._user(payload, now)
                if user is not None:
                    self._remember(token, float(payload["exp"]), user)
                return user
        return None

    def _keys(self, algorithm: str, kid: str | None) -> Iterator[VerifyingKey]:
        """Yield the keys that a token may be signed with, at most MAX_TRIED of them."""
        for one in self.sets:
            one.freshen()
        every = (*self.known, *(key for one in self.sets for key in one.keys))
        fitting = (key for key in every if key.fits(algorithm, kid))
        return islice(fitting, MAX_TRIED)

    def _decode(self, token: str, key: VerifyingKey) -> dict[str, Any] | None:
        """Return what a token says that this key has signed, otherwise None."""
        import jwt  # noqa: PLC0415

        try:
            payload: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[key.algorithm],
                options=_OPTIONS,
                issuer=self._issuer,
                audience=self._audience,
            )
        except Exception as error:  # noqa: BLE001 - whatever a client's text breaks, it is bad
            self.rejection = _REJECTIONS.get(type(error).__name__) or _missing(error)
            return None
        return payload

    def _user(self, payload: dict[str, Any], now: float) -> dict[str, Any] | None:
        subject = payload["sub"]
        text = str(subject) if type(subject) is int else subject
        user_id = _parse_integer(text) if self._is_integer and type(text) is str else text
        rejection = _find_rejection(payload, now)
        if not rejection and type(user_id) not in {str, int}:
            expected = "a whole number" if self._is_integer else "a text"
            rejection = f"'sub' is not {expected}"
        if rejection:
            self.rejection = rejection
            return None
        return {
            "userId": user_id,
            "email": _text_or_none(payload.get("email")),
            "role": _text_or_none(payload.get("role")),
            "claims": {name: value for name, value in payload.items() if name not in _OURS},
        }

    def _forget(self) -> None:
        """Verify every token anew: keys have changed."""
        self._verified.clear()

    def _remember(self, token: str, expires: float, user: dict[str, Any]) -> None:
        if len(self._verified) >= _MAX_CACHED:
            del self._verified[next(iter(self._verified))]
        self._verified[token] = (expires, user)


def _read_head(token: str) -> tuple[str, str | None] | None:
    """Return the algorithm and the key that a token names; None for one that nobody may trust.

    Nothing else of its head counts: not where its key would be, nor what would be critical.
    """
    if len(token) > MAX_BYTES:
        return None
    import jwt  # noqa: PLC0415

    try:
        head = jwt.get_unverified_header(token)
    except Exception:  # noqa: BLE001 - as above
        return None
    algorithm, kid = head.get("alg"), head.get("kid")
    if type(algorithm) is not str or "crit" in head or "b64" in head:
        return None
    if kid is not None and (type(kid) is not str or len(kid) > _MAX_KID):
        return None
    return algorithm, kid


_OVER: Final = "'exp' is in the past"
_REJECTIONS: Final[Mapping[str, str]] = {
    "InvalidSignatureError": "its signature is not by the key",
    "InvalidIssuerError": "'iss' is not the 'issuer' of project.yaml",
    "InvalidAudienceError": "'aud' does not have the 'audience' of project.yaml",
}
"""Why a token is rejected, by the name of PyJWT's error."""


def _missing(error: Exception) -> str:
    """Return why a token is rejected that has no claim, or cannot be read."""
    claim = getattr(error, "claim", None)
    return f"'{claim}' is missing" if claim in _OURS else "its claims cannot be read"


def _find_rejection(payload: Mapping[str, Any], now: float) -> str:
    """Return the reason to reject a token's times or id; empty if they are valid."""
    if not _is_time(payload["exp"]):
        return "'exp' is not a time in seconds"
    if payload["exp"] <= now:
        return _OVER
    begins, issued = payload.get("nbf", 0), payload.get("iat")
    if not _is_time(begins):
        return "'nbf' is not a time in seconds"
    if begins > now + LEEWAY_SECONDS:
        return f"'nbf' is more than {LEEWAY_SECONDS:g} s ahead"
    if issued is not None and _is_time(issued) and issued > now + LEEWAY_SECONDS:
        return f"'iat' is more than {LEEWAY_SECONDS:g} s ahead"
    return "" if type(payload.get("jti", "")) in {str, int} else "'jti' is not a text"


def _subject(user_id: Any) -> str:
    if type(user_id) is str or type(user_id) is int:
        return str(user_id)
    raise WrongKind(f"'userId' needs text or a whole number, found {kind(user_id)}")


def _plain(claims: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims as JSON values: a datetime as text, a decimal as text."""
    taken = _OURS & claims.keys()
    if taken:
        raise WrongKind(f"a claim cannot have a registered name: {quoted(sorted(taken))}")
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


PATH: Final = "/~jwks.json"
CACHED_SECONDS: Final = 300
"""Who verifies asks again at once where a token names a key that is unknown."""


def publish_keys(tokens: Tokens | None, release: str) -> Callable[..., Awaitable[None]] | None:
    """Return what answers at PATH; None where a shared secret signs, which is nobody else's.

    The key that signs comes first, then the public ones that `auth.keys` lists. Sets of others
    are published where they are.
    """
    if tokens is None or type(tokens.known[0].key) is bytes:
        return None
    every = (_describe(key) for key in tokens.known if type(key.key) is not bytes)
    listed = {(one["kid"], one["alg"]): one for one in every}
    body = msgspec.json.encode({"keys": [*listed.values()]})
    headers = [
        (b"content-type", b"application/jwk-set+json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"public, max-age=%d" % CACHED_SECONDS),
        (b"access-control-allow-origin", b"*"), (b"x-content-type-options", b"nosniff"),
        (b"x-release", release.encode()),
    ]  # fmt: skip

    async def answer(scope: Any, receive: Any, send: Any, found: Any) -> None:
        del receive, found
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        is_head = scope["method"] == "HEAD"
        await send({"type": "http.response.body", "body": b"" if is_head else body})

    return answer


def _describe(one: VerifyingKey) -> dict[str, str]:
    kid = one.id or name_key(one.key, one.algorithm)
    return {"kid": kid, "alg": one.algorithm, "use": "sig", **to_jwk(one.key, one.algorithm)}


class Credentials:
    """What a project takes for the token of a request."""

    __slots__ = ("_words", "challenge")

    def __init__(self, schemes: Sequence[str] = ("Bearer",)) -> None:
        """Take the words; in which case they are written does not count."""
        self._words = frozenset(one.lower().encode() for one in schemes)
        self.challenge = ", ".join(schemes).encode()

    def find(self, scope: Any) -> str | None:
        """Return the token of a request; of several `authorization` headers the first counts."""
        for name, value in scope["headers"]:
            if name == b"authorization":
                word, _, token = value.partition(b" ")
                if word.lower() not in self._words:
                    return None
                return token.strip().decode("latin-1") or None
        return None
