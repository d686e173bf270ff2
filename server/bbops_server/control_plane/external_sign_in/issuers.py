"""The issuers of workflows' identity tokens, created on first use."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final

from bbops_server.control_plane.external_sign_in.provider_http import ProviderHttp

if TYPE_CHECKING:
    from bbops_server.control_plane.external_sign_in.issuer_keys import IssuerKeys

MAX_KEYS_BYTES: Final = 256 << 10

FAILURE_SECONDS: Final = 30.0
"""The time after a failed fetch of keys without another fetch."""


class Issuers:
    """The keys of each issuer; redirects are not followed, and responses are limited in size."""

    def __init__(self) -> None:
        self._keys: dict[str, IssuerKeys] = {}

    def find(self, issuer: str, trusted: AbstractSet[str]) -> IssuerKeys | None:
        """Return the keys of an issuer; None if it is not trusted, without any request."""
        if issuer not in trusted:
            return None
        if issuer not in self._keys:
            self._keys = {name: keys for name, keys in self._keys.items() if name in trusted}
            self._keys[issuer] = _create(issuer)
        return self._keys[issuer]


def _create(issuer: str) -> IssuerKeys:
    from bbops_server.control_plane.external_sign_in.issuer_keys import (  # noqa: PLC0415 - slow
        IssuerKeys,
    )

    http = ProviderHttp(issuer, issuer, follows="none", max_bytes=MAX_KEYS_BYTES)
    return IssuerKeys(http, issuer, failure_seconds=FAILURE_SECONDS)
