"""Claims of GitLab CI/CD.

Source: GitLab Docs, "OpenID Connect (OIDC) Authentication Using ID Tokens". For the merge request
of a fork, `project_id` is the number of the fork; before GitLab 18.2.2 it was the number of the
target, and `ref` the name of a branch of the fork (GitLab issue 561735). The ref of a merge request
is therefore not the ref of a branch here.
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
    text_of,
)

_REF_TYPE: Final = "ref_type"
_PREFIXES: Final = {"branch": "refs/heads/", "tag": "refs/tags/"}
_SOURCE: Final = "pipeline_source"
_MERGE_REQUEST: Final = "merge_request_event"
_OF_MERGE_REQUEST: Final = "refs/merge-requests/"
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
        text_of(claims, NAMES.repository, most=200),
        read_id(claims, NAMES.repository_id),
        read_id(claims, NAMES.owner_id),
        _read_ref(claims),
        text_of(claims, NAMES.environment, required=False),
        _read_workflow(claims),
        read_sha(claims, NAMES.sha),
        text_of(claims, NAMES.run, most=100),
        text_of(claims, NAMES.actor, most=100),
        NAMES,
    )


def _read_ref(claims: Claims) -> str:
    """Return a full ref; `refs/merge-requests/BRANCH` for the pipeline of a merge request."""
    if text_of(claims, _SOURCE) == _MERGE_REQUEST:
        return _OF_MERGE_REQUEST + text_of(claims, NAMES.ref)
    kind = text_of(claims, _REF_TYPE)
    if kind not in _PREFIXES:
        raise RejectedClaim(_REF_TYPE, kind, "which must be 'branch' or 'tag'")
    return _PREFIXES[kind] + text_of(claims, NAMES.ref)


def _read_workflow(claims: Claims) -> str:
    """Return `group/project/.gitlab-ci.yml@ref` of `host/group/project//.gitlab-ci.yml@ref`."""
    uri = text_of(claims, NAMES.workflow, required=False, most=500)
    _, _, path = uri.partition("/")
    return path.replace("//", "/", 1)
