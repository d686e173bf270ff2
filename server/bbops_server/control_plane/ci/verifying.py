"""Verify identity tokens: issuer, signature, audience and times (RFC 7519, RFC 8725)."""

from __future__ import annotations

import hashlib
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import jwt

from bbops_server.control_plane.ci.identity import Claims, RejectedClaim, text_of
from bbops_server.control_plane.external_sign_in.issuers import Issuers

LEEWAY_SECONDS: Final = 60
MAX_AGE_SECONDS: Final = 600
_MAX_TIME: Final = 1e11
_OPTIONS: Final[Any] = {
    "verify_signature": True, "enforce_minimum_key_length": True,
    **dict.fromkeys(("verify_exp", "verify_nbf", "verify_iat", "verify_aud"), False),
    **dict.fromkeys(("verify_iss", "verify_sub", "verify_jti"), False),
}  # fmt: skip
"""Claims are compared here, so that a rejection names the claim."""

_UNREADABLE: Final = (jwt.PyJWTError, ValueError, TypeError, RecursionError)


class UntrustedToken(Exception):
    """The token is malformed, of an unknown issuer, or not signed by its issuer."""


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """The claims of a token with a valid signature.

    Attributes:
        assertion: what identifies the token among those of all issuers.
        until: the time from which the token is rejected anyway.
    """

    issuer: str
    claims: Claims
    assertion: str
    until: datetime


async def verify(
    token: str, issuers: Issuers, trusted: AbstractSet[str], audience: str, now: datetime
) -> VerifiedToken:
    """Return the verified claims of a token.

    Args:
        token: the identity token.
        issuers: the keys of issuers.
        trusted: the issuers whose keys may be fetched.
        audience: the only accepted audience, the address of the control plane.
        now: the time.

    Raises:
        UntrustedToken: the signature cannot be verified; the message is for the server's log.
        RejectedClaim: the token is for another audience, or its time has passed.
        AccountError: the issuer's keys cannot be fetched.
    """
    issuer, claims = await _verify_signature(token, issuers, trusted)
    found = claims.get("aud")
    if not isinstance(found, str) or found != audience:
        reason = "which is not the address of this control plane alone"
        raise RejectedClaim("aud", found, reason, audience)
    until = _check_times(claims, now)
    return VerifiedToken(issuer, claims, _identify(issuer, claims, token), until)


async def _verify_signature(
    token: str, issuers: Issuers, trusted: AbstractSet[str]
) -> tuple[str, dict[str, Any]]:
    issuer, key_id = _read_unverified(token)
    keys = issuers.find(issuer, trusted)
    if keys is None:
        raise UntrustedToken(f"no project trusts the issuer {issuer[:200]!r}")
    key = await keys.find(key_id)
    if key is None:
        raise UntrustedToken(f"issuer '{issuer}' has no signing key {str(key_id)[:100]!r}")
    try:
        return issuer, jwt.decode(token, key, algorithms=[key.algorithm_name], options=_OPTIONS)
    except _UNREADABLE as error:
        raise UntrustedToken(f"token of '{issuer}': {type(error).__name__}") from None


def _read_unverified(token: str) -> tuple[str, str | None]:
    """Return the issuer and key id that a token claims to have."""
    try:
        unverified = jwt.decode_complete(token, options={"verify_signature": False})
        issuer, key_id = unverified["payload"].get("iss"), unverified["header"].get("kid")
    except _UNREADABLE as error:
        raise UntrustedToken(f"not a JSON web token: {type(error).__name__}") from None
    if not isinstance(issuer, str):
        raise UntrustedToken("the token names no issuer")
    return issuer, key_id if isinstance(key_id, str) else None


def _check_times(claims: Claims, now: datetime) -> datetime:
    """Return the time from which a token is rejected for its age or its end."""
    seconds, issued, ends = now.timestamp(), _read_time(claims, "iat"), _read_time(claims, "exp")
    starts = _read_time(claims, "nbf") if "nbf" in claims else issued
    for name, time in (("iat", issued), ("nbf", starts)):
        if time > seconds + LEEWAY_SECONDS:
            raise RejectedClaim(name, time, "which is in the future")
    if ends <= seconds - LEEWAY_SECONDS:
        raise RejectedClaim("exp", ends, "which has passed")
    if issued <= seconds - LEEWAY_SECONDS - MAX_AGE_SECONDS:
        reason = f"which is more than {MAX_AGE_SECONDS // 60} minutes ago"
        raise RejectedClaim("iat", issued, reason)
    lasts = min(ends, issued + MAX_AGE_SECONDS) + LEEWAY_SECONDS
    return datetime.fromtimestamp(lasts, UTC) + timedelta(seconds=1)


def _read_time(claims: Claims, name: str) -> float:
    value = claims.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Comparisons are false for NaN, and exact for whole numbers that no float can hold.
    if value is None or not is_number or not 0 < value < _MAX_TIME:
        raise RejectedClaim(name, value, "which must be a time in seconds")
    return float(value)


def _identify(issuer: str, claims: Claims, token: str) -> str:
    """Return the token's own id, or without one a hash of its signed claims."""
    if "jti" in claims:
        return f"jti {issuer} {text_of(claims, 'jti', most=500)}"
    payload = jwt.utils.base64url_decode(token.split(".")[1])
    return f"sha256 {issuer} {hashlib.sha256(payload).hexdigest()}"
