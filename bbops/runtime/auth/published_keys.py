"""Publish the public keys of a project's tokens, so that others can verify them (RFC 7517)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from bbops.runtime.auth.keys import VerifyingKey, name_key, to_jwk
from bbops.runtime.auth.tokens import Tokens

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
