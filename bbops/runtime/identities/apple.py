"""Sign in with Apple: OpenID Connect, but for the secret, and the way back.

Source: https://developer.apple.com/documentation/signinwithapple ("Creating a client secret").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from bbops.base.host import Host
from bbops.runtime.auth.keys import read_key
from bbops.runtime.identities.kinds import Settings, read_name
from bbops.runtime.identities.oidc import Oidc
from bbops.runtime.values.failures import FlowError

SECRET_SECONDS: Final = 300


class Apple(Oidc):
    """Apple: the client's secret is a JWT of ours, and the browser comes back with a form."""

    posts = True

    def __init__(self, settings: Settings, host: Host) -> None:
        """Raises: FlowError: the private key is none."""
        super().__init__(settings, host)
        try:
            self._key, _ = read_key(settings.secret, "ES256")
        except ValueError as error:
            raise FlowError(f"the private key of provider '{settings.name}': {error}") from None
        if self._key is None:
            raise FlowError(f"the private key of provider '{settings.name}' is a public one")

    def client_secret(self) -> str:
        """Return a JWT that lives for five minutes."""
        import jwt  # noqa: PLC0415 - see `bbops.runtime.auth.keys`

        now, of = int(self.host.clock.now().timestamp()), self.settings
        claims = {
            "iss": of.team_id, "iat": now, "exp": now + SECRET_SECONDS, "aud": of.issuer,
            "sub": of.client_id,
        }  # fmt: skip
        return jwt.encode(claims, self._key, "ES256", headers={"kid": of.key_id})

    def name_of(self, claims: dict[str, Any], given: Mapping[str, str]) -> str:
        """Return the name that comes beside the token, and only the first time.

        It is the browser's word: no more than what somebody likes to be called.
        """
        try:
            user = msgspec.json.decode(given.get("user", "") or "{}")
            parts = user["name"]
            return read_name(f"{parts.get('firstName', '')} {parts.get('lastName', '')}")
        except (msgspec.DecodeError, RecursionError, KeyError, TypeError, AttributeError):
            return super().name_of(claims, given)
