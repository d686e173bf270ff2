"""Sign-ins that last: refresh tokens, each used once and replaced by the next.

One that is used again was stolen, or its thief came first: then the whole sign-in ends.
Source: RFC 9700 section 4.14.2, "Refresh Token Rotation".
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from bbops.runtime.failures import FlowError, Thrown
from bbops.runtime.flow import Run, issue_token
from bbops.runtime.operators import kind
from bbops.runtime.secret_texts import hash_secret, make_secret

_PREFIX: Final = "rt"
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
        Thrown: 401 for one that is unknown, expired or was used before, which ends the sign-in.
    """
    old = hash_secret(_text(token))
    if not await run.host.database.read(_FIND, (old,)):
        raise Thrown(401)  # made-up tokens never wait for, or take, the place of a write
    new, hashed = make_secret(run.host.random, _PREFIX)
    now = run.host.clock.now().timestamp()
    replaced, _ = await run.host.database.write_all([
        (_REPLACE, (hashed, old, now)), (_FOLLOW, (now + _lasts(run), old, hashed)),
    ])  # fmt: skip
    if not replaced:
        await run.host.database.write(_END, (old,))
        raise Thrown(401)
    return {"userId": _decode(replaced[0][0]), "refreshToken": new}


async def end_sign_in(run: Run, token: Any, user: Any) -> None:
    """End the sign-in of a token, or every one of a user; unknown ones have ended already."""
    if token is not None:
        await run.host.database.write(_END, (hash_secret(_text(token)),))
    if user is not None:
        if type(user) not in {str, int}:
            raise FlowError(f"'userId' needs a text or a whole number, got {kind(user)}")
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
        raise FlowError(f"'refreshToken' needs a text, got {kind(token)}")
    return token
