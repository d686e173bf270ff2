"""GitHub Actions: variables GITHUB_*, and the event file of the run.

Source: docs.github.com, "Variables reference", and "Events that trigger workflows".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from bbops.base.errors import BbopsError
from bbops.interfaces.ci.environments._values import (
    read_address,
    read_branch,
    read_commit,
    read_field,
    read_number,
    read_path,
    read_repository,
    text_of,
)
from bbops.interfaces.ci.files import read_file
from bbops.interfaces.ci.run import CiRun

MAX_EVENT_BYTES: Final = 32 << 20
"""GitHub sends payloads of at most 25 MB."""

_PROPOSALS: Final = frozenset({"pull_request", "pull_request_target"})
_QUEUED: Final = re.compile(r"/pr-(\d+)-[0-9a-f]+$")


def read(env: Mapping[str, str]) -> CiRun | None:
    """Return the run of GitHub Actions; None elsewhere."""
    if (
        env.get("GITHUB_ACTIONS") != "true"
        or env.get("GITEA_ACTIONS")
        or env.get("FORGEJO_ACTIONS")
    ):
        return None
    return read_actions(env, "github", env.get("GITHUB_RUN_ID", ""))


def read_actions(env: Mapping[str, str], forge: str, run_number: str) -> CiRun:
    """Return the run of a system with the variables of GitHub Actions.

    Args:
        env: the variables.
        forge: the name of the system.
        run_number: the last part of the URL of the run.

    Raises:
        BbopsError: the event file is too large, or is not JSON.
    """
    event = _read_event(env)
    server = read_address(env.get("GITHUB_SERVER_URL"))
    repository = read_repository(env.get("GITHUB_REPOSITORY"))
    number = read_number(run_number)
    run = CiRun(
        forge=forge,
        commit=read_commit(env.get("GITHUB_SHA")),
        branch=text_of(env.get("GITHUB_REF_NAME")) if _is_branch(env) else "",
        repository=repository,
        url=f"{server}/{repository}/actions/runs/{number}"
        if server and repository and number
        else "",
        server=server,
        api=read_address(env.get("GITHUB_API_URL")),
        summary=read_path(env.get("GITHUB_STEP_SUMMARY")),
        outputs=read_path(env.get("GITHUB_OUTPUT")),
        default_branch=read_branch(read_field(event, "repository", "default_branch")),
        scratch=read_path(env.get("RUNNER_TEMP")),
    )
    name = env.get("GITHUB_EVENT_NAME", "")
    if name in _PROPOSALS:
        return _with_proposal(run, env, read_field(event, "pull_request"), event)
    if name == "merge_group":
        return _with_queue(run, read_field(event, "merge_group"))
    if name == "push":
        return replace(run, event="push", base=read_commit(read_field(event, "before")))
    return run


def _is_branch(env: Mapping[str, str]) -> bool:
    kind = env.get("GITHUB_REF_TYPE")
    return kind == "branch" if kind else env.get("GITHUB_REF", "").startswith("refs/heads/")


def _with_proposal(run: CiRun, env: Mapping[str, str], request: Any, event: Any) -> CiRun:
    head, base = read_field(request, "head"), read_field(request, "base")
    names = (read_field(side, "repo", "full_name") for side in (head, base))
    source, target = map(read_repository, names)
    return replace(
        run,
        event="proposal",
        commit=read_commit(read_field(head, "sha")),
        branch=read_branch(env.get("GITHUB_HEAD_REF") or read_field(head, "ref")),
        target=read_branch(env.get("GITHUB_BASE_REF") or read_field(base, "ref")),
        base=read_commit(read_field(base, "sha")),
        number=read_number(read_field(request, "number") or read_field(event, "number")),
        is_fork=not source or source != (target or run.repository),
    )


def _with_queue(run: CiRun, group: Any) -> CiRun:
    queued = _QUEUED.search(text_of(read_field(group, "head_ref")))
    return replace(
        run,
        event="queue",
        commit=read_commit(read_field(group, "head_sha")) or run.commit,
        branch=read_branch(read_field(group, "head_ref")) or run.branch,
        target=read_branch(read_field(group, "base_ref")),
        base=read_commit(read_field(group, "base_sha")),
        number=read_number(queued[1]) if queued else 0,
    )


def _read_event(env: Mapping[str, str]) -> Any:
    path = read_path(env.get("GITHUB_EVENT_PATH"))
    data = read_file(path, MAX_EVENT_BYTES) if path else None
    try:
        return json.loads(data) if data else {}
    except (ValueError, RecursionError):
        raise BbopsError(f"the event file '{path}' is not JSON") from None
