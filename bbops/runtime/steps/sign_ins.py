"""Sign-ins that last: refresh tokens, each used once and replaced by the next.

One that is used again was stolen, or its thief came first: then the whole sign-in ends. Two tabs
may use one at the same moment, so within GRACE_SECONDS whoever uses it again gets the very token
that took its place: a family never forks, so a thief who was that quick is still found out.
Source: RFC 9700 section 4.14.2, "Refresh Token Rotation".
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from bbops.runtime.auth.api_keys import derive_secret, hash_secret, make_secret
from bbops.runtime.flow.run import Run, issue_token
from bbops.runtime.values.failures import FlowError, Thrown, WrongKind
from bbops.runtime.values.operators import kind

GRACE_SECONDS: Final = 10.0
"""So long a token that was replaced gives the one in its place."""
_PREFIX: Final = "rt"
_SALT_LENGTH: Final = 26
_ADD: Final = (
    "INSERT INTO _bbops_refresh_tokens (hash, family, user_id, expires_at) VALUES (?, ?, ?, ?)"
)
_FORGET_OLD: Final = "DELETE FROM _bbops_refresh_tokens WHERE expires_at < ?"
_FIND: Final = "SELECT 1 FROM _bbops_refresh_tokens WHERE hash = ?"
_REPLACE: Final = (
    "UPDATE _bbops_refresh_tokens SET successor = ?"
    " WHERE hash = ? AND successor IS NULL AND expires_at > ? RETURNING user_id"
)
_FOLLOW: Final = (
    "INSERT INTO _bbops_refresh_tokens (hash, family, user_id, expires_at)"
    " SELECT successor, family, user_id, ? FROM _bbops_refresh_tokens"
    " WHERE hash = ? AND successor = ?"
)
# The next token is made from the one before, which is not kept, and from a salt, which is.
_KEEP_SALT: Final = (
    "INSERT INTO _bbops_refresh_salts (hash, salt, replaced_at)"
    " SELECT hash, ?, ? FROM _bbops_refresh_tokens WHERE hash = ? AND successor = ?"
)
_FORGET_SALTS: Final = "DELETE FROM _bbops_refresh_salts WHERE replaced_at <= ?"
_LOOK: Final = (
    "SELECT t.user_id, t.successor, s.salt FROM _bbops_refresh_tokens t"
    " LEFT JOIN _bbops_refresh_salts s ON s.hash = t.hash AND s.replaced_at > ?"
    " WHERE t.hash = ? AND t.expires_at > ?"
)
_END: Final = (
    "DELETE FROM _bbops_refresh_tokens"
    " WHERE family = (SELECT family FROM _bbops_refresh_tokens WHERE hash = ?)"
)
_END_ALL: Final = "DELETE FROM _bbops_refresh_tokens WHERE user_id = ?"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(str | int).decode


async def begin_sign_in(
    run: Run, user: Any, email: Any, role: Any, claims: Any, expires: Any
) -> dict[str, str]:  # fmt: skip
    """Return {token, refreshToken} of a new sign-in; raises as `issue_token`."""
    token = issue_token(run, user, email, role, claims, expires)
    refresh, hashed = make_secret(run.host.random, _PREFIX)
    now = run.host.clock.now().timestamp()
    row = (hashed, run.host.random.uuid(), _kept(user), now + _lasts(run))
    await run.host.database.write_all([(_FORGET_OLD, (now,)), (_ADD, row)])
    return {"token": token, "refreshToken": refresh}


async def renew_sign_in(run: Run, token: Any) -> dict[str, Any]:
    """Return {userId, refreshToken} with the token that takes the given one's place.

    Raises:
        Thrown: 401 for one that is unknown, expired or was replaced a while ago, which ends the
            sign-in.
    """
    text = _text(token)
    old = hash_secret(text)
    if not await run.host.database.read(_FIND, (old,)):
        raise Thrown(401)  # made-up tokens never wait for, or take, the place of a write
    salt = run.host.random.token(_SALT_LENGTH)
    new, hashed = derive_secret(text, salt, _PREFIX)
    now = run.host.clock.now().timestamp()
    replaced, *_ = await run.host.database.write_all([
        (_REPLACE, (hashed, old, now)),
        (_FOLLOW, (now + _lasts(run), old, hashed)),
        (_FORGET_SALTS, (now - GRACE_SECONDS,)),
        (_KEEP_SALT, (salt, now, old, hashed)),
    ])  # fmt: skip
    found = (replaced[0][0], new) if replaced else await _find_newest(run, text, now)
    if found is None:
        await run.host.database.write(_END, (old,))
        raise Thrown(401)
    return {"userId": _decode(found[0]), "refreshToken": found[1]}


async def _find_newest(run: Run, token: str, now: float) -> tuple[str, str] | None:
    """Return (user, token) of the token that took a replaced one's place, None if too late.

    It may have been replaced since, even later: each step is a token of the last moments.
    """
    while rows := await run.host.database.read(
        _LOOK, (now - GRACE_SECONDS, hash_secret(token), now)
    ):  # fmt: skip
        user, successor, salt = rows[0]
        if successor is None:
            return user, token
        if salt is None:
            return None
        token, _ = derive_secret(token, salt, _PREFIX)
    return None


async def end_sign_in(run: Run, token: Any, user: Any) -> None:
    """End the sign-in of a token, or every one of a user; unknown ones have ended already."""
    if token is not None:
        await run.host.database.write(_END, (hash_secret(_text(token)),))
    if user is not None:
        if type(user) not in {str, int}:
            raise WrongKind(f"'userId' needs a text or a whole number, got {kind(user)}")
        await run.host.database.write(_END_ALL, (_kept(user),))


def _kept(user: str | int) -> str:
    """Return a user's key as its column keeps it: 1 and '1' are two."""
    return _encode(user).decode()


def _lasts(run: Run) -> float:
    if run.tokens is None:
        raise FlowError("project.yaml has no 'auth.signingKey'")
    return run.tokens.refresh_seconds


def _text(token: Any) -> str:
    if type(token) is not str:
        raise WrongKind(f"'refreshToken' needs a text, got {kind(token)}")
    return token
