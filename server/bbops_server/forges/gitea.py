"""Gitea and Forgejo: webhooks and the client of the API.

Source: docs.gitea.com and forgejo.org/docs, "Webhooks"; the API's description by each forge, at
`/swagger.v1.json`.
"""

from __future__ import annotations

from bbops_server.forges.hooks import Headers, HookProof, SignatureProof
from bbops_server.forges.hosted import Capability, HostedForge
from bbops_server.forges.on_gitea.pulls import GiteaPulls
from bbops_server.forges.on_gitea.reports import GiteaReports
from bbops_server.forges.on_gitea.repository import GiteaWebhooks
from bbops_server.forges.on_gitea.reviews import GiteaReviews
from bbops_server.forges.on_gitea.rights import GiteaRights
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.secrets import Secrets
from bbops_server.settings.repositories import ForgeBinding, ForgeKind

KINDS: tuple[ForgeKind, ...] = ("gitea", "forgejo")
PULL_EVENTS = frozenset({
    "pull_request", "pull_request_sync", "pull_request_approved", "pull_request_rejected",
    "pull_request_review",
})  # fmt: skip
EVENTS = PULL_EVENTS | {"push", "create", "delete", "repository"}


def event_of(headers: Headers) -> str:
    """Return the event of a request; empty without one."""
    return headers.get("x-forgejo-event") or headers.get("x-gitea-event", "")


def proof_of(headers: Headers, secret: str) -> HookProof:
    """Return the signature in the headers of a request."""
    signature = headers.get("x-forgejo-signature") or headers.get("x-gitea-signature", "")
    return SignatureProof(secret, signature)


class GiteaForge(GiteaPulls, GiteaReviews, GiteaReports, GiteaRights, GiteaWebhooks):
    """Implements `HostedForge`. There are neither check runs nor deployments."""

    pull_ref = "refs/pull/{number}/head"
    capabilities: frozenset[Capability] = frozenset({"releases", "teams"})


def open_client(binding: ForgeBinding, secrets: Secrets, egress: EgressPolicy) -> HostedForge:
    """Return the client of a binding. Sends no request."""
    return GiteaForge(binding, secrets, egress)
