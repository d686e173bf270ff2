"""Deployments and environments of a project on GitLab."""

from __future__ import annotations

import re
from typing import Final

from bbops_server.forges.api import decode
from bbops_server.forges.on_gitlab.project import SCOPE
from bbops_server.forges.on_gitlab.pulls import GitLabPulls
from bbops_server.forges.on_gitlab.shapes import GitLabDeployment, GitLabEnvironment, login
from bbops_server.forges.values import Deployment

MAX_URL: Final = 255
_REFUSED: Final = re.compile(r"[^\w/${}. -]", re.ASCII)


class GitLabEnvironments(GitLabPulls):
    """Writes deployments; the protocol describes each operation.

    A deployment is of an environment, which has the address.
    """

    async def deploy(self, deployment: Deployment, known: str = "") -> str:
        """Deploy a commit to an environment, or stop the environment; return the deployment's id.

        A deployment of a stopped environment starts it again.
        """
        name, path = name_environment(deployment.environment), await self.find_root()
        if not known and not deployment.is_active:
            known = await self.find_deployment(deployment.environment, deployment.commit)
            if not known:
                return ""
        found = await self._read(path, known) if known else await self._create(
            path, name, deployment.commit
        )  # fmt: skip
        environment = f"{path}/environments/{found.environment.id}"
        if not deployment.is_active:
            await self.api.send("POST", f"{environment}/stop", right=SCOPE)
        elif _has_other_url(found.environment, deployment.url):
            await self.api.send("PUT", environment, {"external_url": deployment.url}, right=SCOPE)
        return str(found.id)

    async def find_deployment(self, environment: str, commit: str) -> str:
        """Return the id of the server's newest deployment of a commit, else empty."""
        logins = await self.bot_logins()
        path = f"{await self.find_root()}/deployments"
        found = await self.read_pages(
            path, list[GitLabDeployment], may_cut=True, environment=name_environment(environment),
            order_by="id", sort="desc",
        )  # fmt: skip
        own = (
            str(each.id) for each in found if each.sha == commit and login(each.user) in logins
        )  # fmt: skip
        return next(own, "")

    async def _create(self, path: str, environment: str, commit: str) -> GitLabDeployment:
        body = {
            "environment": environment, "sha": commit, "tag": False, "status": "success",
            "ref": self._find_ref(commit),
        }  # fmt: skip
        response = await self.api.send("POST", f"{path}/deployments", body, right=SCOPE)
        return decode(response, GitLabDeployment)

    def _find_ref(self, commit: str) -> str:
        """Return the branch of a commit; the commit itself for the head of a fork."""
        default = "" if commit in self.fork_heads else self.target
        return self.branches.get(commit) or default or commit

    async def _read(self, path: str, known: str) -> GitLabDeployment:
        return await self.api.get(f"{path}/deployments/{known}", GitLabDeployment, right=SCOPE)


def name_environment(name: str) -> str:
    """Return a name without the characters that GitLab refuses: `preview/7 (shop)` loses two."""
    return _REFUSED.sub("", name)[:MAX_URL]


def _has_other_url(environment: GitLabEnvironment, url: str) -> bool:
    return 0 < len(url) <= MAX_URL and environment.external_url != url
