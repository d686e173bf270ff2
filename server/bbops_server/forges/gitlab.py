"""Webhooks of GitLab, which sends the secret itself. Source: docs.gitlab.com, "Webhooks"."""

from __future__ import annotations

from bbops_server.forges.hooks import Headers, HookProof, TokenProof
from bbops_server.settings.forge_binding import ForgeKind

KINDS: tuple[ForgeKind, ...] = ("gitlab",)
PULL_EVENTS = frozenset({"Merge Request Hook"})
EVENTS = frozenset({"Push Hook", "Tag Push Hook", "Merge Request Hook"})


def event_of(headers: Headers) -> str:
    """Return the event of a request; empty without one."""
    return headers.get("x-gitlab-event", "")


def proof_of(headers: Headers, secret: str) -> HookProof:
    """Return the token in the headers of a request."""
    return TokenProof(secret, headers.get("x-gitlab-token", ""))
