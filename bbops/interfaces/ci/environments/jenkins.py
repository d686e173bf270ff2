"""Jenkins: the variables of a multibranch pipeline.

Source: jenkins.io, "Branches and Pull Requests", and the variables of the Git plugin.
"""

from __future__ import annotations

from collections.abc import Mapping

from bbops.interfaces.ci.environments._values import (
    read_address,
    read_branch,
    read_commit,
    read_number,
)
from bbops.interfaces.ci.run import CiRun


def read(env: Mapping[str, str]) -> CiRun | None:
    """Return the run of a Jenkins job; None elsewhere."""
    if not env.get("JENKINS_URL"):
        return None
    is_proposal = bool(env.get("CHANGE_ID"))
    branch = env.get("CHANGE_BRANCH") if is_proposal else env.get("BRANCH_NAME")
    return CiRun(
        forge="jenkins",
        event="proposal" if is_proposal else "push" if branch else "manual",
        commit=read_commit(env.get("GIT_COMMIT")),
        branch=read_branch(branch),
        target=read_branch(env.get("CHANGE_TARGET")),
        base="" if is_proposal else read_commit(env.get("GIT_PREVIOUS_COMMIT")),
        number=read_number(env.get("CHANGE_ID")),
        is_fork=bool(env.get("CHANGE_FORK")),
        url=read_address(env.get("BUILD_URL")),
    )
