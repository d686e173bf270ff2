"""GitLab CI/CD: variables CI_*.

A pipeline of merged results checks out the merge of both branches; other pipelines of a merge
request check out its head.
Source: docs.gitlab.com, "Predefined CI/CD variables reference".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bbops.interfaces.ci.environments._values import (
    read_address,
    read_branch,
    read_commit,
    read_number,
    read_repository,
)
from bbops.interfaces.ci.run import CiRun

_REQUEST = "CI_MERGE_REQUEST_"


def read(env: Mapping[str, str]) -> CiRun | None:
    """Return the run of GitLab CI/CD; None elsewhere."""
    if env.get("GITLAB_CI") != "true":
        return None
    run = CiRun(
        forge="gitlab",
        commit=read_commit(env.get("CI_COMMIT_SHA")),
        branch=read_branch(env.get("CI_COMMIT_BRANCH")),
        repository=read_repository(env.get("CI_PROJECT_PATH")),
        url=read_address(env.get("CI_JOB_URL") or env.get("CI_PIPELINE_URL")),
        server=read_address(env.get("CI_SERVER_URL")),
        api=read_address(env.get("CI_API_V4_URL")),
        default_branch=read_branch(env.get("CI_DEFAULT_BRANCH")),
    )
    if number := read_number(env.get(f"{_REQUEST}IID")):
        return _with_proposal(replace(run, number=number), env)
    if env.get("CI_PIPELINE_SOURCE") == "push":
        return replace(run, event="push", base=read_commit(env.get("CI_COMMIT_BEFORE_SHA")))
    return run


def _with_proposal(run: CiRun, env: Mapping[str, str]) -> CiRun:
    is_queue = env.get(f"{_REQUEST}EVENT_TYPE") == "merge_train"
    source = read_commit(env.get(f"{_REQUEST}SOURCE_BRANCH_SHA"))
    target = read_commit(env.get(f"{_REQUEST}TARGET_BRANCH_SHA"))
    projects = {env.get(f"{_REQUEST}{name}PROJECT_ID") for name in ("", "SOURCE_")}
    return replace(
        run,
        event="queue" if is_queue else "proposal",
        commit=run.commit if is_queue else source or run.commit,
        branch=read_branch(env.get(f"{_REQUEST}SOURCE_BRANCH_NAME")),
        target=read_branch(env.get(f"{_REQUEST}TARGET_BRANCH_NAME")),
        base=target or read_commit(env.get(f"{_REQUEST}DIFF_BASE_SHA")),
        repository=read_repository(env.get(f"{_REQUEST}PROJECT_PATH")) or run.repository,
        is_fork=len(projects) > 1,
    )
