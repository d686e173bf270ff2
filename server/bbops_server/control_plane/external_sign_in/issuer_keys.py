"""OpenID Connect issuers: metadata and public keys, cached for an hour."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any, Final

import jwt

from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.external_sign_in.provider_http import ProviderHttp

CACHE_SECONDS: Final = 3_600.0
REFETCH_SECONDS: Final = 60.0
ALGORITHMS: Final = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
)


class IssuerKeys:
    """The keys of one issuer. Simultaneous requests share one fetch."""

    def __init__(self, http: ProviderHttp, issuer: str, *, failure_seconds: float = 0.0) -> None:
        """Args: `failure_seconds`: the time after a failed fetch in which keys are not fetched."""
        self.http, self.issuer = http, issuer
        self._failure_seconds = failure_seconds
        self._failure: tuple[float, AccountError] | None = None
        self._metadata: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, list[jwt.PyJWK]] = (-CACHE_SECONDS, [])
        self._fetch: asyncio.Task[None] | None = None

    async def read_metadata(self) -> dict[str, Any]:
        """Return the issuer's OpenID Connect metadata.

        Raises:
            AccountError: the issuer cannot be reached, or has another name than configured.
        """
        if self._metadata is None or monotonic() - self._metadata[0] > CACHE_SECONDS:
            base = self.issuer.rstrip("/")
            metadata = await self.http.get(f"{base}/.well-known/openid-configuration")
            if not isinstance(metadata, dict) or metadata.get("issuer") != self.issuer:
                raise AccountError(f"'{self.http.name}' is not the configured issuer")
            self._metadata = monotonic(), metadata
        return self._metadata[1]

    async def find(self, key_id: str | None) -> jwt.PyJWK | None:
        """Return a signing key for an asymmetric algorithm; None if there is none.

        An unknown key id fetches the keys again, at most once a minute. Raises as `read_metadata`,
        also for a failure that is remembered.
        """
        key = self._pick(key_id)
        if key is None and monotonic() - self._keys[0] > REFETCH_SECONDS:
            await self._share_fetch()
            key = self._pick(key_id)
        return key

    async def _share_fetch(self) -> None:
        if self._failure is not None:
            failed, error = self._failure
            if monotonic() - failed < self._failure_seconds:
                raise AccountError(error.message, hint=error.hint)
        if self._fetch is None or self._fetch.done():
            self._fetch = asyncio.create_task(self._try_fetch())
        await asyncio.shield(self._fetch)

    async def _try_fetch(self) -> None:
        """Fetch the keys, and remember a failure: anybody can ask for keys again and again."""
        try:
            await self._fetch_keys()
        except AccountError as error:
            self._failure = monotonic(), error
            raise
        self._failure = None

    async def _fetch_keys(self) -> None:
        url = text_of(await self.read_metadata(), "jwks_uri")
        if self.issuer.startswith("https:") and not url.startswith("https:"):
            raise self.http.invalid_response()
        listed = await self.http.get(url)
        try:
            keys = jwt.PyJWKSet.from_dict(listed).keys
            self._keys = monotonic(), [key for key in keys if _is_for_signatures(key)]
        except (jwt.PyJWTError, ValueError, TypeError, AttributeError, NotImplementedError):
            raise self.http.invalid_response() from None

    def _pick(self, key_id: str | None) -> jwt.PyJWK | None:
        if monotonic() - self._keys[0] > CACHE_SECONDS:
            return None
        keys = self._keys[1]
        if key_id is None:
            return keys[0] if len(keys) == 1 else None
        return next((key for key in keys if key.key_id == key_id), None)


def _is_for_signatures(key: jwt.PyJWK) -> bool:
    """Return whether a key is for signatures of an asymmetric algorithm."""
    is_for_them = key.public_key_use is None or key.public_key_use == "sig"  # it may be any JSON
    return is_for_them and key.algorithm_name in ALGORITHMS


def text_of(document: dict[str, Any], name: str) -> str:
    """Return a text in a response of the issuer.

    Raises:
        AccountError: it is missing.
    """
    value = document.get(name)
    if not isinstance(value, str):
        raise AccountError(f"the provider's response lacks '{name}'")
    return value
