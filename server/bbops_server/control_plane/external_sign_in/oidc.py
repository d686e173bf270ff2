"""Sign in at an OpenID Connect provider: code flow with PKCE, the ID token verified by its keys."""

from __future__ import annotations

from hmac import compare_digest
from time import monotonic
from typing import Any, Final
from urllib.parse import urlencode

import jwt

from bbops_server.accounts.errors import AccountError
from bbops_server.control_plane.external_sign_in.provider_http import Provided, Stranger
from bbops_server.control_plane.external_sign_in.started import Started
from bbops_server.settings import Provider

_KEPT_SECONDS: Final = 3_600.0
_KEYS_AT_MOST_EVERY: Final = 60.0
_LEEWAY_SECONDS: Final = 60
_ALGORITHMS: Final = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
)


class Oidc:
    """One provider. What it says of itself is kept for an hour."""

    def __init__(self, provider: Provider, secret: str) -> None:
        self.provider, self._secret = provider, secret
        self._ask = Provided(provider.name, provider.issuer)
        self._about: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, list[jwt.PyJWK]] = (-_KEPT_SECONDS, [])

    async def begin(self, started: Started, redirect_uri: str) -> str:
        """Return where the browser goes to.

        Raises:
            AccountError: the provider cannot be reached, or is another one than was named.
        """
        about = await self._read_about()
        query = {
            "response_type": "code", "client_id": self.provider.client_id,
            "redirect_uri": redirect_uri, "scope": "openid email profile",
            "state": started.state, "nonce": started.nonce,
            "code_challenge": started.challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        address = _text(about, "authorization_endpoint")
        return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"

    async def finish(self, started: Started, code: str, redirect_uri: str) -> Stranger:
        """Return whom the provider has sent.

        Raises:
            AccountError: it vouches for nobody, or for somebody else.
        """
        about = await self._read_about()
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri,
            "code_verifier": started.verifier, "client_id": self.provider.client_id,
        }  # fmt: skip
        methods = about.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        client: tuple[str, str] | None = (self.provider.client_id, self._secret)
        if "client_secret_basic" not in methods:
            form, client = form | {"client_secret": self._secret}, None
        answer = await self._ask.post(_text(about, "token_endpoint"), form, client)
        claims = await self._verify(about, _text(answer, "id_token"), started.nonce)
        if "email" not in claims and "userinfo_endpoint" in about:
            claims = await self._add_userinfo(about, claims, answer)
        return _stranger(self.provider.name, claims)

    def is_from(self, issuer: str | None) -> bool:
        """Return whether an answer names no other issuer (RFC 9207)."""
        return issuer is None or issuer == self.provider.issuer

    async def _read_about(self) -> dict[str, Any]:
        if self._about is None or monotonic() - self._about[0] > _KEPT_SECONDS:
            base = self.provider.issuer.rstrip("/")
            found = await self._ask.get(f"{base}/.well-known/openid-configuration")
            if not isinstance(found, dict) or found.get("issuer") != self.provider.issuer:
                raise AccountError(f"'{self.provider.name}' is not the configured issuer")
            self._about = monotonic(), found
        return self._about[1]

    async def _add_userinfo(
        self, about: dict[str, Any], claims: dict[str, Any], answer: dict[str, Any]
    ) -> dict[str, Any]:
        found = await self._ask.get(
            _text(about, "userinfo_endpoint"), _text(answer, "access_token")
        )
        if not isinstance(found, dict) or found.get("sub") != claims["sub"]:
            raise self._ask.odd()
        return {**found, **claims}

    async def _verify(self, about: dict[str, Any], token: str, nonce: str) -> dict[str, Any]:
        """Return the claims of an ID token (OpenID Connect Core section 3.1.3.7)."""
        try:
            header = jwt.get_unverified_header(token)
            key = await self._find_key(about, header.get("kid"))
            claims: dict[str, Any] = jwt.decode(
                token, key, algorithms=[key.algorithm_name], audience=self.provider.client_id,
                issuer=self.provider.issuer, leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "sub", "aud", "iss"]},
            )  # fmt: skip
        except (jwt.PyJWTError, ValueError, TypeError):
            raise self._ask.odd() from None
        others = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        is_ours = claims.get("azp", "" if others else self.provider.client_id)
        given = str(claims.get("nonce", ""))
        if is_ours != self.provider.client_id or not compare_digest(given.encode(), nonce.encode()):
            raise self._ask.odd()
        return claims

    async def _find_key(self, about: dict[str, Any], key_id: str | None) -> jwt.PyJWK:
        found = self._pick(key_id)
        if found is None and monotonic() - self._keys[0] > _KEYS_AT_MOST_EVERY:
            listed = await self._ask.get(_text(about, "jwks_uri"))
            self._keys = monotonic(), jwt.PyJWKSet.from_dict(listed).keys
            found = self._pick(key_id)
        if found is None or found.algorithm_name not in _ALGORITHMS:
            raise self._ask.odd()
        return found

    def _pick(self, key_id: str | None) -> jwt.PyJWK | None:
        if monotonic() - self._keys[0] > _KEPT_SECONDS:
            return None
        keys = [one for one in self._keys[1] if one.public_key_use in {None, "sig"}]
        if key_id is None:
            return keys[0] if len(keys) == 1 else None
        return next((one for one in keys if one.key_id == key_id), None)


def _text(found: dict[str, Any], name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str):
        raise AccountError(f"the provider's response lacks '{name}'")
    return value


def _stranger(provider: str, claims: dict[str, Any]) -> Stranger:
    email, name, subject = (claims.get(one) for one in ("email", "name", "sub"))
    if not isinstance(subject, str) or not 0 < len(subject) <= 255:
        raise AccountError(f"'{provider}' did not identify the user")
    is_verified = claims.get("email_verified") in {True, "true"}
    return Stranger(
        provider, subject, email if isinstance(email, str) else "", is_verified,
        name if isinstance(name, str) else "",
    )  # fmt: skip
