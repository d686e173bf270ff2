"""Sign in with an OpenID Connect provider: authorization code with PKCE, and ID tokens."""

from __future__ import annotations

from hmac import compare_digest
from time import monotonic
from typing import Any, Final
from urllib.parse import urlencode

import jwt

from bbops_server.accounts.errors import AccountError
from bbops_server.control_plane.external_sign_in.pending_sign_ins import PendingSignIn
from bbops_server.control_plane.external_sign_in.provider_http import ExternalUser, ProviderHttp
from bbops_server.settings import Provider

_CACHE_SECONDS: Final = 3_600.0
_KEY_REFETCH_SECONDS: Final = 60.0
_LEEWAY_SECONDS: Final = 60
_ALGORITHMS: Final = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
)


class OidcSignIn:
    """Sign-in with one provider, whose metadata and keys are cached for an hour."""

    def __init__(self, provider: Provider, secret: str) -> None:
        self.provider, self._secret = provider, secret
        self._http = ProviderHttp(provider.name, provider.issuer)
        self._metadata: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, list[jwt.PyJWK]] = (-_CACHE_SECONDS, [])

    async def begin(self, pending: PendingSignIn, redirect_uri: str) -> str:
        """Return the authorization URL.

        Raises:
            AccountError: the provider cannot be reached, or has another issuer than configured.
        """
        metadata = await self._read_metadata()
        query = {
            "response_type": "code", "client_id": self.provider.client_id,
            "redirect_uri": redirect_uri, "scope": "openid email profile",
            "state": pending.state, "nonce": pending.nonce,
            "code_challenge": pending.challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        address = _text(metadata, "authorization_endpoint")
        return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"

    async def finish(self, pending: PendingSignIn, code: str, redirect_uri: str) -> ExternalUser:
        """Return the user who has signed in at the provider.

        Raises:
            AccountError: the provider rejected the code, or its ID token is not valid.
        """
        metadata = await self._read_metadata()
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri,
            "code_verifier": pending.verifier, "client_id": self.provider.client_id,
        }  # fmt: skip
        methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        client: tuple[str, str] | None = (self.provider.client_id, self._secret)
        if "client_secret_basic" not in methods:
            form, client = form | {"client_secret": self._secret}, None
        answer = await self._http.post(_text(metadata, "token_endpoint"), form, client)
        claims = await self._verify(metadata, _text(answer, "id_token"), pending.nonce)
        if "email" not in claims and "userinfo_endpoint" in metadata:
            claims = await self._add_userinfo(metadata, claims, answer)
        return _read_user(self.provider.name, claims)

    def is_from(self, issuer: str | None) -> bool:
        """Return whether an authorization response has this issuer, or none (RFC 9207)."""
        return issuer is None or issuer == self.provider.issuer

    async def _read_metadata(self) -> dict[str, Any]:
        if self._metadata is None or monotonic() - self._metadata[0] > _CACHE_SECONDS:
            base = self.provider.issuer.rstrip("/")
            metadata = await self._http.get(f"{base}/.well-known/openid-configuration")
            if not isinstance(metadata, dict) or metadata.get("issuer") != self.provider.issuer:
                raise AccountError(f"'{self.provider.name}' is not the configured issuer")
            self._metadata = monotonic(), metadata
        return self._metadata[1]

    async def _add_userinfo(
        self, metadata: dict[str, Any], claims: dict[str, Any], answer: dict[str, Any]
    ) -> dict[str, Any]:
        userinfo = await self._http.get(
            _text(metadata, "userinfo_endpoint"), _text(answer, "access_token")
        )
        if not isinstance(userinfo, dict) or userinfo.get("sub") != claims["sub"]:
            raise self._http.invalid_response()
        return {**userinfo, **claims}

    async def _verify(self, metadata: dict[str, Any], token: str, nonce: str) -> dict[str, Any]:
        """Return the claims of an ID token (OpenID Connect Core section 3.1.3.7)."""
        try:
            header = jwt.get_unverified_header(token)
            key = await self._find_key(metadata, header.get("kid"))
            claims: dict[str, Any] = jwt.decode(
                token, key, algorithms=[key.algorithm_name], audience=self.provider.client_id,
                issuer=self.provider.issuer, leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "sub", "aud", "iss"]},
            )  # fmt: skip
        except (jwt.PyJWTError, ValueError, TypeError):
            raise self._http.invalid_response() from None
        others = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        is_ours = claims.get("azp", "" if others else self.provider.client_id)
        sent_nonce = str(claims.get("nonce", "")).encode()
        if is_ours != self.provider.client_id or not compare_digest(sent_nonce, nonce.encode()):
            raise self._http.invalid_response()
        return claims

    async def _find_key(self, metadata: dict[str, Any], key_id: str | None) -> jwt.PyJWK:
        key = self._pick(key_id)
        if key is None and monotonic() - self._keys[0] > _KEY_REFETCH_SECONDS:
            listed = await self._http.get(_text(metadata, "jwks_uri"))
            self._keys = monotonic(), jwt.PyJWKSet.from_dict(listed).keys
            key = self._pick(key_id)
        if key is None or key.algorithm_name not in _ALGORITHMS:
            raise self._http.invalid_response()
        return key

    def _pick(self, key_id: str | None) -> jwt.PyJWK | None:
        if monotonic() - self._keys[0] > _CACHE_SECONDS:
            return None
        keys = [key for key in self._keys[1] if key.public_key_use in {None, "sig"}]
        if key_id is None:
            return keys[0] if len(keys) == 1 else None
        return next((key for key in keys if key.key_id == key_id), None)


def _text(document: dict[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise AccountError(f"the provider's response lacks '{name}'")
    return value


def _read_user(provider: str, claims: dict[str, Any]) -> ExternalUser:
    email, name, subject = (claims.get(claim) for claim in ("email", "name", "sub"))
    if not isinstance(subject, str) or not 0 < len(subject) <= 255:
        raise AccountError(f"'{provider}' did not identify the user")
    is_verified = claims.get("email_verified") in {True, "true"}
    return ExternalUser(
        provider, subject, email if isinstance(email, str) else "", is_verified,
        name if isinstance(name, str) else "",
    )  # fmt: skip
