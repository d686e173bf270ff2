"""Tokens of a GitHub App for one repository.

Source: docs.github.com, "Generating a JSON Web Token (JWT) for a GitHub App", "Generating an
installation access token for a GitHub App".
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import jwt
import msgspec

from bbops.base.host import Clock
from bbops_server.forges.api import ForgeApi, decode
from bbops_server.forges.credentials import read_secret
from bbops_server.forges.hosted import ForgeForbidden, ForgeGone
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.secrets import Secrets
from bbops_server.process.host.system import SystemClock
from bbops_server.settings.repositories import ForgeApp

RENEW_BEFORE: Final = timedelta(minutes=5)
_LIFE: Final = timedelta(minutes=9)
"""The life of a JWT; GitHub accepts ten minutes."""
_SKEW: Final = timedelta(seconds=60)
_APP_HINT: Final = "install the App for it on its page 'Install App'"


class GitHubApp(msgspec.Struct, frozen=True):
    """The App of a credential; `permissions` are the rights that it asks for."""

    id: int
    slug: str
    permissions: dict[str, str] = {}


class Installation(msgspec.Struct, frozen=True):
    """The App's installation for a repository; `permissions` are its rights there.

    Attributes:
        target_type: the kind of the repository's owner, `Organization` or `User`.
    """

    id: int
    app_slug: str
    target_type: str = "Organization"
    permissions: dict[str, str] = {}


class _InstallationToken(msgspec.Struct, frozen=True):
    token: str
    expires_at: datetime

    def __repr__(self) -> str:
        return f"_InstallationToken(expires_at={self.expires_at})"


class AppKey:
    """The private key of an App, which signs a JWT for each request."""

    def __init__(self, app: ForgeApp, secrets: Secrets, clock: Clock) -> None:
        self._app, self._secrets, self._clock = app, secrets, clock

    def __repr__(self) -> str:
        return f"AppKey({self._app!r})"

    async def headers(self) -> Mapping[str, str]:
        """Return the header with a JWT. Raises: ForgeForbidden: the key is missing or not valid."""
        key, now = await read_secret(self._secrets, self._app.key_env), self._clock.now()
        claims: dict[str, Any] = {"iat": now - _SKEW, "exp": now + _LIFE, "iss": str(self._app.id)}
        try:
            signed = await asyncio.to_thread(jwt.encode, claims, key, "RS256")
        except (jwt.PyJWTError, ValueError, TypeError, NotImplementedError):
            raise ForgeForbidden(
                f"the value of '{self._app.key_env}' is not an RSA key in PEM",
                hint="the App's page has 'Generate a private key'",
            ) from None
        return {"authorization": f"Bearer {signed}"}

    def renew(self) -> bool:
        """Return False: a JWT is new for each request."""
        return False


class AppCredential:
    """Installation tokens, renewed before they expire; concurrent requests share one.

    Attributes:
        api: requests of the App itself, with a JWT.
    """

    def __init__(
        self, base: str, repository: str, app: ForgeApp, secrets: Secrets, egress: EgressPolicy,
        *, headers: Mapping[str, str], clock: Clock | None = None,
    ) -> None:  # fmt: skip
        """Use the installation of an App for a repository.

        Args:
            base: the address of the API.
            repository: its path, such as `acme/shop`.
            app: the App.
            secrets: the server's values, with the App's private key.
            egress: the rules for connections.
            headers: of every request.
            clock: the time.
        """
        self._clock = clock or SystemClock()
        self._repository, self._root = repository, f"/repos/{repository}"
        key = AppKey(app, secrets, self._clock)
        self.api = ForgeApi(base, key, egress, headers=headers, root=self._root, clock=self._clock)
        self._lock = asyncio.Lock()
        self._token: _InstallationToken | None = None

    def __repr__(self) -> str:
        return f"AppCredential({self._repository!r})"

    @property
    def requests(self) -> int:
        """The number of requests for tokens."""
        return self.api.requests

    async def token(self) -> str:
        """Return a token that is valid for at least five minutes.

        Raises:
            ForgeError: the App is not installed for the repository, or its key is not valid.
        """
        async with self._lock:
            if self._token is None or self._token.expires_at - self._clock.now() < RENEW_BEFORE:
                self._token = await self._make_token()
            return self._token.token

    async def headers(self) -> Mapping[str, str]:
        """Return the header with a token. Raises as `token`."""
        return {"authorization": f"Bearer {await self.token()}"}

    def renew(self) -> bool:
        """Drop the token, so that the next request makes another; return whether it had one."""
        token, self._token = self._token, None
        return token is not None

    async def read_app(self) -> GitHubApp:
        """Return the App. Raises: ForgeError: its key is not valid."""
        return await self.api.get("/app", GitHubApp)

    async def read_installation(self) -> Installation:
        """Return the installation. Raises: ForgeGone: the App is not installed there."""
        try:
            return await self.api.get(f"{self._root}/installation", Installation)
        except ForgeGone:
            message = f"the GitHub App is not installed for '{self._repository}'"
            raise ForgeGone(message, hint=_APP_HINT) from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self.api.aclose()

    async def _make_token(self) -> _InstallationToken:
        """Return a new token for the repository alone."""
        installation = await self.read_installation()
        response = await self.api.send(
            "POST", f"/app/installations/{installation.id}/access_tokens", self._scope()
        )
        return decode(response, _InstallationToken)

    def _scope(self) -> Mapping[str, Any]:
        """Return the repository, by its number once it was renamed."""
        number = self.api.moved.rpartition("/")[2]
        if number.isdigit():
            return {"repository_ids": [int(number)]}
        return {"repositories": [self._repository.rpartition("/")[2]]}
