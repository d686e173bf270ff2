"""The sign-in providers of a server's settings, created on first use."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from bbops_server.accounts.text_rules import AccountError
from bbops_server.control_plane.external_sign_in.github import GitHubSignIn
from bbops_server.control_plane.external_sign_in.provider_http import ExternalUser, PendingSignIn
from bbops_server.process.host.secrets import Secrets
from bbops_server.settings import Provider


class ExternalProvider(Protocol):
    """A provider that users can sign in with."""

    provider: Provider

    async def begin(self, pending: PendingSignIn, redirect_uri: str) -> str:
        """Return the authorization URL."""
        ...

    async def finish(self, pending: PendingSignIn, code: str, redirect_uri: str) -> ExternalUser:
        """Return the user who has signed in at the provider."""
        ...

    def is_from(self, issuer: str | None) -> bool:
        """Return whether an authorization response has this provider's issuer, or none."""
        ...


class Providers:
    """Clients of the configured providers; a changed configuration creates a new client."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._clients: dict[Provider, ExternalProvider] = {}

    def find(self, configured: tuple[Provider, ...], name: str) -> ExternalProvider | None:
        """Return the provider of a name, or None.

        Raises:
            AccountError: the provider's client secret is not set.
        """
        provider = next((provider for provider in configured if provider.name == name), None)
        if provider is None:
            return None
        if provider not in self._clients:
            self._clients = {
                known: client for known, client in self._clients.items() if known in configured
            }
            self._clients[provider] = _create_client(provider, self._secret(provider))
        return self._clients[provider]

    def _secret(self, provider: Provider) -> str:
        name = provider.secret_env
        secret = Secrets(self._state).find(name)
        if not secret:
            raise AccountError(
                f"the secret of '{provider.name}' is not set",
                hint=f"the operator of this server can set it: bbops env set {name} --of-server",
            )
        return secret


def _create_client(provider: Provider, secret: str) -> ExternalProvider:
    if provider.kind == "github":
        return GitHubSignIn(provider, secret)
    from bbops_server.control_plane.external_sign_in.oidc import OidcSignIn  # noqa: PLC0415 - slow

    return OidcSignIn(provider, secret)
