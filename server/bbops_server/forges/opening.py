"""The client of a project's forge, found by its kind: a module with `open_client`."""

from __future__ import annotations

from functools import cache
from typing import Protocol, cast
from urllib.parse import urlsplit

from bbops.base.registry import members
from bbops_server.forges.hosted import ForgeError, HostedForge
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.secrets import Secrets
from bbops_server.settings import is_loopback
from bbops_server.settings.forge_binding import ForgeBinding, ForgeKind


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
