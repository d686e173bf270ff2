"""identityToken, for ID tokens and users of Google's identity platform (Firebase Authentication).

Tokens are checked with the public keys that Google publishes; users are read as a service account.
Source: https://firebase.google.com/docs/auth/admin/verify-id-tokens
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from bbops.base.host import Host, HttpRequest, HttpResponse
from bbops.runtime.auth.key_sets import KeySet
from bbops.runtime.values.failures import HttpFailure, Thrown
from bbops.runtime.values.outside import Refusal, send
from bbops.runtime.vendors._parts import bearer, segment, text_at
from bbops.runtime.vendors._work import AddonFailure, Work, read_answer, read_json

_KEYS: Final = "https://www.googleapis.com"
_KEYS_PATH: Final = "/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"
_TOKENS: Final = "https://oauth2.googleapis.com"
_USERS: Final = "https://identitytoolkit.googleapis.com"
_ISSUER: Final = "https://securetoken.google.com/"
_SCOPE: Final = "https://www.googleapis.com/auth/identitytoolkit"
_GRANT: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
STALE_SECONDS: Final = 6 * 3_600.0
"""Old keys serve for so long while Google cannot be reached."""
LEEWAY_SECONDS: Final = 10.0
"""By how much clocks may differ."""
KEPT_SECONDS: Final = 55 * 60.0
"""An access token lasts an hour."""
_MOST_TOKEN: Final = 10_000
_MOST_UID: Final = 128


@dataclass(slots=True)
class Kept:
    """What lasts from one step to the next: public keys, and the token of the service account."""

    host: Host
    keys: KeySet
    access: str = ""
    until: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


def keep(config: Mapping[str, str | None], host: Host) -> Kept:
    """Return what a release begins with: nothing is fetched yet."""
    base = (config.get("endpoint") or _KEYS).rstrip("/")
    keys = KeySet(
        base + _KEYS_PATH, "RS256", None, clock=host.clock, log=host.log, http=host.http,
        stale_seconds=STALE_SECONDS,
    )  # fmt: skip
    return Kept(host, keys)


# ---- tokens
async def verify_id_token(work: Work, given: Mapping[str, Any]) -> Any:
    """Check a token that a client brings.

    Raises:
        Thrown: 401, whatever is wrong with it.
        HttpFailure: there are no keys, so nobody knows.
    """
    claims = await _claims(work, given["idToken"])
    return {
        "uid": claims["sub"], **{name: _text(claims.get(name)) for name in _PERSON},
        "email_verified": claims.get("email_verified") is True, "auth_time": claims["auth_time"],
    }  # fmt: skip


async def _claims(work: Work, token: str) -> dict[str, Any]:
    import jwt  # noqa: PLC0415 - see `bbops.runtime.auth.keys`

    project = work.setting("projectId")
    try:
        head = jwt.get_unverified_header(token) if len(token) <= _MOST_TOKEN else {}
    except (jwt.PyJWTError, ValueError, RecursionError):
        head = {}
    kid = head.get("kid")
    if head.get("alg") != "RS256" or type(kid) is not str or not kid:
        raise _bad()  # `none`, and HS256 with the public key, too
    key = await _key(work, kid)
    try:
        claims: dict[str, Any] = jwt.decode(
            token, key, algorithms=["RS256"], options=_ONLY_SIGNATURE
        )
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise _bad() from None
    if not _is_meant(claims, project, work.host.clock.now().timestamp()):
        raise _bad()
    return claims


async def _key(work: Work, kid: str) -> Any:
    """Return the public key of that id; an unknown one is looked for anew, now and then."""
    keys: KeySet = work.kept.keys
    if keys.is_too_old:
        await keys.look_again()
    else:
        keys.freshen()
    if keys.is_too_old:
        raise HttpFailure("httpUnreachable", "the public keys of the identity platform are missing")
    found = _find(keys, kid)
    if found is None:
        await keys.look_again()
        found = _find(keys, kid)
    if found is None:
        raise _bad()
    return found


def _find(keys: KeySet, kid: str) -> Any:
    return next((one.key for one in keys.keys if one.id == kid), None)


def _is_meant(claims: Mapping[str, Any], project: str, now: float) -> bool:
    """Return whether a signed token is for this project, of a user, and good at this moment."""
    subject, latest = claims.get("sub"), now + LEEWAY_SECONDS
    issued, expires, signed_in = _number(claims, "iat"), _number(claims, "exp"), None
    if type(claims.get("auth_time")) is int:
        signed_in = _number(claims, "auth_time")
    if issued is None or expires is None or signed_in is None:
        return False
    return (
        claims.get("aud") == project
        and claims.get("iss") == f"{_ISSUER}{project}"
        and type(subject) is str and 1 <= len(subject) <= _MOST_UID
        and issued <= latest and signed_in <= latest
        and now <= expires + LEEWAY_SECONDS
    )  # fmt: skip


def _number(claims: Mapping[str, Any], name: str) -> float | None:
    found = claims.get(name)
    return found if type(found) in {int, float} else None


def _bad() -> Thrown:
    """Return the same for every fault: what is wrong is nothing for who tries tokens."""
    return Thrown(401, "a valid token is needed")


def _text(value: Any) -> str | None:
    return value if type(value) is str else None


# ---- users
async def get_user(work: Work, given: Mapping[str, Any]) -> Any:
    """Read a user.

    Raises:
        Thrown: 404, there is none.
        AddonFailure: there is no service account.
    """
    uid = given["uid"]
    if not 1 <= len(uid) <= _MOST_UID:
        raise Thrown(404, "there is no such user")
    project = segment(work.setting("projectId"), "projectId")
    url = f"{work.address(_USERS)}/v1/projects/{project}/accounts:lookup"
    token = await _access(work)
    try:
        found = await work.ask("POST", url, bearer(token), {"localId": [uid]}, refusal=_refusal)
    except HttpFailure as failure:
        if failure.answered == 401:
            work.kept.access = ""
        raise
    users = found.get("users", []) if isinstance(found, dict) else None
    if not isinstance(users, list) or not all(isinstance(one, dict) for one in users):
        raise AddonFailure("addon-answer", "the vendor returned no list of users")
    if not users:
        raise Thrown(404, "there is no such user")
    user = users[0]
    return {
        "uid": user.get("localId"), "email": user.get("email"), "name": user.get("displayName"),
        "picture": user.get("photoUrl"), "email_verified": user.get("emailVerified", False),
        "disabled": user.get("disabled", False),
    }  # fmt: skip


async def _access(work: Work) -> str:
    """Return an access token of the service account: fetched once for all who wait."""
    kept: Kept = work.kept
    async with kept.lock:
        now = kept.host.clock.now().timestamp()
        if not kept.access or not now < kept.until:
            kept.access, kept.until = await _fetch_access(work, now), now + KEPT_SECONDS
        return kept.access


async def _fetch_access(work: Work, now: float) -> str:
    kept: Kept = work.kept
    url = f"{work.address(_TOKENS)}/token"
    form = {"grant_type": _GRANT, "assertion": _assertion(work, now)}
    headers = {"content-type": "application/x-www-form-urlencoded"}
    request = HttpRequest(
        "POST", url, headers, urlencode(form).encode(), work.terms.seconds, "none",
        most_bytes=work.terms.most_bytes,
    )  # fmt: skip
    # through a door that no job records: a job that goes on may find a token that is kept
    answer = await send(kept.host.http, request, repeats=True)
    if not 200 <= answer.status <= 299:
        refusal = _refusal(answer, read_json(answer))
        raise work.failure(url, answer, refusal, repeats=True)
    token = text_at(read_answer(url, answer), "access_token")
    if token is None:
        raise AddonFailure("addon-answer", "the vendor returned no access token")
    return token


def _assertion(work: Work, now: float) -> str:
    """Return what proves that we are the service account. Raises: AddonFailure: it is no key."""
    import jwt  # noqa: PLC0415 - see `bbops.runtime.auth.keys`

    try:
        account = msgspec.json.decode(work.setting("serviceAccount"))
        claims = {
            "iss": account["client_email"], "aud": f"{_TOKENS}/token", "scope": _SCOPE,
            "iat": int(now), "exp": int(now) + 3_600,
        }  # fmt: skip
        head = {"kid": str(account.get("private_key_id", ""))}
        return jwt.encode(claims, account["private_key"], "RS256", head)
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError, ValueError, jwt.PyJWTError):
        message = "'serviceAccount' is not the JSON of a service account's key"
        raise AddonFailure("addon-config", message) from None


def _refusal(_: HttpResponse, found: Any) -> Refusal:
    """Read both shapes: that of the API, and that of OAuth."""
    if text_at(found, "error"):
        return Refusal(text_at(found, "error_description") or "", text_at(found, "error"))
    return Refusal(text_at(found, "error", "message") or "", text_at(found, "error", "status"))


_PERSON: Final = ("email", "name", "picture")
_ONLY_SIGNATURE: Final[Any] = {
    "verify_signature": True, "verify_exp": False, "verify_iat": False, "verify_nbf": False,
    "verify_aud": False, "verify_iss": False, "verify_sub": False, "verify_jti": False,
}  # fmt: skip


async def probe(work: Work) -> str:
    """Return nothing once the public keys were read, and a token where there is an account."""
    work.setting("projectId")
    url = f"{work.address(_KEYS)}{_KEYS_PATH}"
    await work.ask("GET", url, {"accept": "application/json"}, refusal=_refusal)
    if work.config.get("serviceAccount"):
        await _access(replace(work, kept=work.kept or keep(work.config, work.host)))
    return ""


STEPS: Final = {
    "verifyIdToken": verify_id_token,
    "getUser": get_user,
}
PROBE: Final = probe
KEEP: Final = keep
