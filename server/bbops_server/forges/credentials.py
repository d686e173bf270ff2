"""Credentials for a forge's API, and the client of a project's forge."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import Protocol, cast
from urllib.parse import urlsplit

from bbops.base.registry import members
from bbops_server.forges.hosted import ForgeError, ForgeForbidden, HostedForge
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.secrets import Secrets
from bbops_server.settings import is_loopback
from bbops_server.settings.repositories import ForgeBinding, ForgeKind


class TokenCredential:
    """An access token in a variable. It is read for each request, so a new one counts at once."""

    def __init__(self, secrets: Secrets, variable: str, *, scheme: str = "Bearer") -> None:
        """Use the token of a variable.

        Args:
            secrets: the server's values.
            variable: the name of the variable.
            scheme: the word before the token in the header `authorization`.
        """
        self._secrets, self._variable, self._scheme = secrets, variable, scheme

    def __repr__(self) -> str:
        return f"TokenCredential({self._variable!r})"

    async def token(self) -> str:
        """Return the token. Raises: ForgeForbidden: the variable has no valid one."""
        value = await read_secret(self._secrets, self._variable)
        if not value.isascii() or not value.isprintable() or " " in value:
            raise ForgeForbidden(
                f"the value of '{self._variable}' is not a token: it has spaces or other characters"
            )
        return value

    async def headers(self) -> Mapping[str, str]:
        """Return the header with the token. Raises as `token`."""
        return {"authorization": f"{self._scheme} {await self.token()}"}

    def renew(self) -> bool:
        """Return False: the forge rejected the only token."""
        return False


async def read_secret(secrets: Secrets, variable: str) -> str:
    """Return the value of a variable, without line breaks around it.

    Raises:
        ForgeForbidden: it has no value.
    """
    value = (await asyncio.to_thread(secrets.find, variable) or "").strip()
    if not value:
        raise ForgeForbidden(
            f"no value for {variable}", hint=f"bbops env set {variable} --of-server sets it"
        )
    return value


# ---- The client of a project's forge, found by its kind: a module with `open_client`


class OpenClient(Protocol):
    """Opens the client of a kind of forge. Sends no request."""

    def __call__(
        self, binding: ForgeBinding, secrets: Secrets, egress: EgressPolicy
    ) -> HostedForge:
        """Return the client of a binding."""
        ...


def open_forge(binding: ForgeBinding, secrets: Secrets, egress: EgressPolicy) -> HostedForge:
    """Return the client of a project's forge. Sends no request.

    Args:
        binding: the forge, with a token or an App.
        secrets: the server's values.
        egress: the rules for connections.

    Raises:
        ForgeError: the binding has no credential, or it would be sent without https.
    """
    if not binding.has_api:
        raise ForgeError(
            f"the forge of '{binding.project}' has no credential",
            hint=f"'bbops forge connect {binding.project}' stores one",
        )
    parts = urlsplit(binding.url)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise ForgeError(
            f"a credential is not sent to '{binding.url}' without https",
            hint="set 'url' of 'forge' to the https address",
        )
    return find_clients()[binding.kind](binding, secrets, egress)


@cache
def find_clients() -> dict[ForgeKind, OpenClient]:
    """Return the client of each kind of forge."""
    return {
        kind: cast("OpenClient", module.open_client)
        for _, module in members(__package__)
        if hasattr(module, "open_client")
        for kind in module.KINDS
    }
