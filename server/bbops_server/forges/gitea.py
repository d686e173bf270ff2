"""Webhooks of Gitea and Forgejo. Source: docs.gitea.com, forgejo.org/docs, "Webhooks"."""

from __future__ import annotations

from bbops_server.forges.hooks import Headers, HookProof, SignatureProof
from bbops_server.settings.forge_binding import ForgeKind

KINDS: tuple[ForgeKind, ...] = ("gitea", "forgejo")
PULL_EVENTS = frozenset({"pull_request", "pull_request_sync"})
EVENTS = frozenset({"push", "create", "delete", "pull_request", "pull_request_sync", "repository"})


def event_of(headers: Headers) -> str:
    """Return the event of a request; empty without one."""
    return headers.get("x-forgejo-event") or headers.get("x-gitea-event", "")


def proof_of(headers: Headers, secret: str) -> HookProof:
    """Return the signature in the headers of a request."""
    signature = headers.get("x-forgejo-signature") or headers.get("x-gitea-signature", "")
    return SignatureProof(secret, signature)
