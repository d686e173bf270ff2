"""Sign in with an OpenID Connect provider: authorization code with PKCE, and ID tokens."""

from __future__ import annotations

from hmac import compare_digest
from typing import Any, Final
from urllib.parse import urlencode

import jwt

from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.external_sign_in.issuer_keys import IssuerKeys, text_of
from bbops_server.control_plane.external_sign_in.provider_http import (
    ExternalUser,
    PendingSignIn,
    ProviderHttp,
)
from bbops_server.settings import Provider

_LEEWAY_SECONDS: Final = 60


class OidcSignIn:
    """Sign-in with one provider, whose metadata and keys are cached for an hour."""

    def __init__(self, provider: Provider, secret: str) -> None:
        self.provider, self._secret = provider, secret
        self._http = ProviderHttp(provider.name, provider.issuer)
        self._keys = IssuerKeys(self._http, provider.issuer)

    async def begin(self, pending: PendingSignIn, redirect_uri: str) -> str:
        """Return the authorization URL.

        Raises:
            AccountError: the provider cannot be reached, or has another issuer than configured.
        """
        metadata = await self._keys.read_metadata()
        query = {
            "response_type": "code", "client_id": self.provider.client_id,
            "redirect_uri": redirect_uri, "scope": "openid email profile",
            "state": pending.state, "nonce": pending.nonce,
            "code_challenge": pending.challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        address = text_of(metadata, "authorization_endpoint")
        return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"

    async def finish(self, pending: PendingSignIn, code: str, redirect_uri: str) -> ExternalUser:
        """Return the user who has signed in at the provider.

        Raises:
            AccountError: the provider rejected the code, or its ID token is not valid.
        """
        metadata = await self._keys.read_metadata()
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri,
            "code_verifier": pending.verifier, "client_id": self.provider.client_id,
        }  # fmt: skip
        methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        client: tuple[str, str] | None = (self.provider.client_id, self._secret)
        if "client_secret_basic" not in methods:
            form, client = form | {"client_secret": self._secret}, None
        answer = await self._http.post(text_of(metadata, "token_endpoint"), form, client)
        claims = await self._verify(text_of(answer, "id_token"), pending.nonce)
        if "email" not in claims and "userinfo_endpoint" in metadata:
            claims = await self._add_userinfo(metadata, claims, answer)
        return _read_user(self.provider.name, claims)

    def is_from(self, issuer: str | None) -> bool:
        """Return whether an authorization response has this issuer, or none (RFC 9207)."""
        return issuer is None or issuer == self.provider.issuer

    async def _add_userinfo(
        self, metadata: dict[str, Any], claims: dict[str, Any], answer: dict[str, Any]
    ) -> dict[str, Any]:
        userinfo = await self._http.get(
            text_of(metadata, "userinfo_endpoint"), text_of(answer, "access_token")
        )
        if not isinstance(userinfo, dict) or userinfo.get("sub") != claims["sub"]:
            raise self._http.invalid_response()
        return {**userinfo, **claims}

    async def _verify(self, token: str, nonce: str) -> dict[str, Any]:
        """Return the claims of an ID token (OpenID Connect Core section 3.1.3.7)."""
        try:
            header = jwt.get_unverified_header(token)
            key = await self._keys.find(header.get("kid"))
            if key is None:
                raise self._http.invalid_response()
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


def _read_user(provider: str, claims: dict[str, Any]) -> ExternalUser:
    email, name, subject = (claims.get(claim) for claim in ("email", "name", "sub"))
    if not isinstance(subject, str) or not 0 < len(subject) <= 255:
        raise AccountError(f"'{provider}' did not identify the user")
    is_verified = claims.get("email_verified") in {True, "true"}
    return ExternalUser(
        provider, subject, email if isinstance(email, str) else "", is_verified,
        name if isinstance(name, str) else "",
    )  # fmt: skip
