"""A client for the control-plane API of a running server.

One file for each subject; `connection` sends the requests. `replay` has its own client.
"""

from __future__ import annotations

from bbops.interfaces.client.projects import ProjectRequests
from bbops.interfaces.client.publications import (
    DraftRequests,
    FrontendRequests,
    ProposalRequests,
    PublicationRequests,
)
from bbops.interfaces.client.sign_in import SignInRequests, WorkflowRequests

__all__ = ["Remote"]


class Remote(
    ProjectRequests,
    FrontendRequests,
    DraftRequests,
    PublicationRequests,
    ProposalRequests,
    SignInRequests,
    WorkflowRequests,
):
    """A client for the control plane of a server. Use it in a `with` block."""
