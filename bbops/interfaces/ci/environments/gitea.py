"""Actions of Gitea and Forgejo: the variables of GitHub, with GITEA_ACTIONS or FORGEJO_ACTIONS.

Their pages of runs are numbered within a repository, and their pull requests are not merged before
the run: HEAD is the head of the pull request.
"""

from __future__ import annotations

from collections.abc import Mapping

from bbops.interfaces.ci.environments.github import read_actions
from bbops.interfaces.ci.run import CiRun


def read(env: Mapping[str, str]) -> CiRun | None:
    """Return the run of Gitea or Forgejo Actions; None elsewhere."""
    if not (env.get("GITEA_ACTIONS") or env.get("FORGEJO_ACTIONS")):
        return None
    forge = "forgejo" if env.get("FORGEJO_ACTIONS") else "gitea"
    return read_actions(env, forge, env.get("GITHUB_RUN_NUMBER", ""))
