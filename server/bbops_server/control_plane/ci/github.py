"""Claims of GitHub Actions, and of Forgejo Actions, which uses the same names.

Source: GitHub Docs, "OpenID Connect reference"; Forgejo, "Security OpenID Connect".
"""

from __future__ import annotations

from typing import Final

from bbops_server.control_plane.ci.identity import (
    CiIdentity,
    ClaimNames,
    Claims,
    read_id,
    read_sha,
    text_of,
)

_JOB_WORKFLOW: Final = "job_workflow_ref"
_WORKFLOW: Final = "workflow_ref"
NAMES: Final = ClaimNames(
    repository_id="repository_id", owner_id="repository_owner_id", repository="repository",
    ref="ref", environment="environment", workflow=_JOB_WORKFLOW, sha="sha", run="run_id",
    actor="actor",
)  # fmt: skip


def read(claims: Claims) -> CiIdentity:
    """Return the identity of a run.

    A job of a reusable workflow has the file of that workflow, not of its caller.

    Raises:
        RejectedClaim: a claim is missing or malformed.
    """
    workflow = text_of(claims, _JOB_WORKFLOW, required=False, most=500)
    return CiIdentity(
        text_of(claims, NAMES.repository, most=200),
        read_id(claims, NAMES.repository_id),
        read_id(claims, NAMES.owner_id),
        text_of(claims, NAMES.ref),
        text_of(claims, NAMES.environment, required=False),
        workflow or text_of(claims, _WORKFLOW, required=False, most=500),
        read_sha(claims, NAMES.sha),
        text_of(claims, NAMES.run, most=100),
        text_of(claims, NAMES.actor, most=100),
        NAMES,
    )
