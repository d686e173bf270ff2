"""GitLab: webhooks and the client of the API.

GitLab sends the webhook's secret itself. Source: docs.gitlab.com, "Webhooks", "REST API resources".
"""

from __future__ import annotations

from bbops.base.host import Clock
from bbops_server.forges.hooks import Headers, HookProof, TokenProof
from bbops_server.forges.hosted import Capability, HostedForge
from bbops_server.forges.on_gitlab.project import GitLabWebhooks
from bbops_server.forges.on_gitlab.reports import GitLabEnvironments, GitLabReports
from bbops_server.forges.on_gitlab.reviews import GitLabReviews
from bbops_server.forges.on_gitlab.rights import GitLabRights
from bbops_server.forges.on_gitlab.rules import GitLabRules
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.secrets import Secrets
from bbops_server.settings.repositories import ForgeBinding, ForgeKind

KINDS: tuple[ForgeKind, ...] = ("gitlab",)
PULL_EVENTS = frozenset({"Merge Request Hook"})
EVENTS = frozenset({"Push Hook", "Tag Push Hook", "Merge Request Hook"})


def event_of(headers: Headers) -> str:
    """Return the event of a request; empty without one."""
    return headers.get("x-gitlab-event", "")


def proof_of(headers: Headers, secret: str) -> HookProof:
    """Return the token in the headers of a request."""
    return TokenProof(secret, headers.get("x-gitlab-token", ""))


class GitLabForge(
    GitLabReviews, GitLabRules, GitLabReports, GitLabEnvironments, GitLabRights, GitLabWebhooks
):
    """Implements `HostedForge`. A status has no annotations."""

    pull_ref = "refs/merge-requests/{number}/head"
    capabilities: frozenset[Capability] = frozenset({
        "deployments", "releases", "teams", "sections",
    })  # fmt: skip

    def __init__(
        self, binding: ForgeBinding, secrets: Secrets, egress: EgressPolicy, *,
        clock: Clock | None = None,
    ) -> None:  # fmt: skip
        """Use the project of a binding. No request is sent."""
        super().__init__(binding, secrets, egress, clock=clock)
        self.branches = {}


def open_client(binding: ForgeBinding, secrets: Secrets, egress: EgressPolicy) -> HostedForge:
    """Return the client of a binding. Sends no request."""
    return GitLabForge(binding, secrets, egress)
