"""Claims of GitLab CI/CD.

Source: GitLab Docs, "OpenID Connect (OIDC) Authentication Using ID Tokens". For the merge request
of a fork, `project_id` is the number of the fork.
"""

from __future__ import annotations

from typing import Final

from bbops_server.control_plane.ci.identity import (
    CiIdentity,
    ClaimNames,
    Claims,
    RejectedClaim,
    read_id,
    read_sha,
    read_text,
)

_REF_TYPE: Final = "ref_type"
_PREFIXES: Final = {"branch": "refs/heads/", "tag": "refs/tags/"}
NAMES: Final = ClaimNames(
    repository_id="project_id", owner_id="namespace_id", repository="project_path", ref="ref",
    environment="environment", workflow="ci_config_ref_uri", sha="sha", run="pipeline_id",
    actor="user_login",
)  # fmt: skip


def read(claims: Claims) -> CiIdentity:
    """Return the identity of a pipeline's job.

    Raises:
        RejectedClaim: a claim is missing or malformed.
    """
    return CiIdentity(
        read_text(claims, NAMES.repository, most=200),
        read_id(claims, NAMES.repository_id),
        read_id(claims, NAMES.owner_id),
        _read_ref(claims),
        read_text(claims, NAMES.environment, required=False),
        _read_workflow(claims),
        read_sha(claims, NAMES.sha),
        read_text(claims, NAMES.run, most=100),
        read_text(claims, NAMES.actor, most=100),
        NAMES,
    )


def _read_ref(claims: Claims) -> str:
    kind = read_text(claims, _REF_TYPE)
    if kind not in _PREFIXES:
        raise RejectedClaim(_REF_TYPE, kind, "which must be 'branch' or 'tag'")
    return _PREFIXES[kind] + read_text(claims, NAMES.ref)


def _read_workflow(claims: Claims) -> str:
    """Return `group/project/.gitlab-ci.yml@ref` of `host/group/project//.gitlab-ci.yml@ref`."""
    uri = read_text(claims, NAMES.workflow, required=False, most=500)
    _, _, path = uri.partition("/")
    return path.replace("//", "/", 1)
