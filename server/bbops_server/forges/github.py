"""GitHub and GitHub Enterprise Server: webhooks and the client of the API.

Source: docs.github.com, "Validating webhook deliveries", "GitHub REST API documentation".
"""

from __future__ import annotations

from typing import Final

from bbops.base.host import Clock
from bbops_server.forges.hooks import Headers, HookProof, SignatureProof
from bbops_server.forges.hosted import Capability, HostedForge
from bbops_server.forges.on_github.pulls import GitHubPulls
from bbops_server.forges.on_github.reports import GitHubReports
from bbops_server.forges.on_github.repository import GitHubWebhooks
from bbops_server.forges.on_github.reviews import GitHubReviews
from bbops_server.forges.on_github.rights import GitHubRights
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.secrets import Secrets
from bbops_server.settings.repositories import ForgeBinding, ForgeKind

KINDS: tuple[ForgeKind, ...] = ("github",)
PULL_EVENTS = frozenset({"pull_request", "pull_request_review"})
EVENTS = frozenset(
    {"push", "create", "delete", "pull_request", "pull_request_review", "repository"}
)
_PREFIX = "sha256="
_WITH_TOKEN: Final[frozenset[Capability]] = frozenset({"deployments", "releases", "teams"})


def event_of(headers: Headers) -> str:
    """Return the event of a request; empty without one."""
    return headers.get("x-github-event", "")


def proof_of(headers: Headers, secret: str) -> HookProof:
    """Return the signature in the headers of a request."""
    signature = headers.get("x-hub-signature-256", "")
    is_known = signature.startswith(_PREFIX)
    return SignatureProof(secret, signature.removeprefix(_PREFIX) if is_known else "")


class GitHubForge(GitHubPulls, GitHubReviews, GitHubReports, GitHubRights, GitHubWebhooks):
    """Implements `HostedForge`. Only Apps write check runs, so only they have annotations."""

    pull_ref = "refs/pull/{number}/head"
    hook_events = EVENTS

    def __init__(
        self, binding: ForgeBinding, secrets: Secrets, egress: EgressPolicy, *,
        clock: Clock | None = None,
    ) -> None:  # fmt: skip
        """Use the repository of a binding. No request is sent."""
        super().__init__(binding, secrets, egress, clock=clock)
        apps: frozenset[Capability] = frozenset({"annotations"} if self.app else ())
        self.capabilities: frozenset[Capability] = _WITH_TOKEN | apps


def open_client(binding: ForgeBinding, secrets: Secrets, egress: EgressPolicy) -> HostedForge:
    """Return the client of a binding. Sends no request."""
    return GitHubForge(binding, secrets, egress)
