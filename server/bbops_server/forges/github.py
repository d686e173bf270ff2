"""Webhooks of GitHub. Source: docs.github.com, "Validating webhook deliveries"."""

from __future__ import annotations

from bbops_server.forges.hooks import Headers, HookProof, SignatureProof
from bbops_server.settings.forge_binding import ForgeKind

KINDS: tuple[ForgeKind, ...] = ("github",)
EVENTS = frozenset({"push", "create", "delete", "pull_request", "repository"})
_PREFIX = "sha256="


def event_of(headers: Headers) -> str:
    """Return the event of a request; empty without one."""
    return headers.get("x-github-event", "")


def proof_of(headers: Headers, secret: str) -> HookProof:
    """Return the signature in the headers of a request."""
    signature = headers.get("x-hub-signature-256", "")
    is_known = signature.startswith(_PREFIX)
    return SignatureProof(secret, signature.removeprefix(_PREFIX) if is_known else "")
