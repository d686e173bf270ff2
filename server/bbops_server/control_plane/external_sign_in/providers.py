"""The providers that a server's settings name, made when they are first asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from bbops_server.accounts.errors import AccountError
from bbops_server.control_plane.external_sign_in.github import GitHub
from bbops_server.control_plane.external_sign_in.provider_http import Stranger
from bbops_server.control_plane.external_sign_in.started import Started
from bbops_server.process.host.secrets import Secrets
from bbops_server.settings import Provider


class Elsewhere(Protocol):
    """One place to sign in at."""

    provider: Provider

    async def begin(self, started: Started, redirect_uri: str) -> str:
        """Return where the browser goes to."""
        ...

    async def finish(self, started: Started, code: str, redirect_uri: str) -> Stranger:
        """Return whom it has sent."""
        ...

    def is_from(self, issuer: str | None) -> bool:
        """Return whether an answer names no other issuer."""
        ...


class Providers:
    """Those in use; settings that change make a new one."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._made: dict[Provider, Elsewhere] = {}

    def find(self, known: tuple[Provider, ...], name: str) -> Elsewhere | None:
        """Return the place of a name.

        Raises:
            AccountError: the secret it takes is not set.
        """
        provider = next((one for one in known if one.name == name), None)
        if provider is None:
            return None
        if provider not in self._made:
            self._made = {one: made for one, made in self._made.items() if one in known}
            self._made[provider] = _make(provider, self._secret(provider))
        return self._made[provider]

    def _secret(self, provider: Provider) -> str:
        name = provider.secret_env
        found = os.environ.get(name) or Secrets(self._state).get(name)
        if not found:
            raise AccountError(
                f"the secret of '{provider.name}' is not set",
                hint=f"the operator of this server can set it: bbops env set {name} --of-server",
            )
        return found


def _make(provider: Provider, secret: str) -> Elsewhere:
    if provider.kind == "github":
        return GitHub(provider, secret)
    from bbops_server.control_plane.external_sign_in.oidc import Oidc  # noqa: PLC0415 - have any, and it is slow

    return Oidc(provider, secret)
