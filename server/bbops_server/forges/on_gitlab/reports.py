"""Statuses, comments and releases of the server on GitLab."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from bbops_server.forges.api import decode
from bbops_server.forges.hosted import ForgeConflict, ForgeError, ForgeGone
from bbops_server.forges.on_gitlab.project import SCOPE
from bbops_server.forges.on_gitlab.pulls import GitLabPulls
from bbops_server.forges.on_gitlab.shapes import (
    GitLabDeployment,
    GitLabEnvironment,
    GitLabId,
    GitLabNote,
    disarm,
    login,
)
from bbops_server.forges.values import CheckState, Deployment, NewRelease, StatusReport

MAX_TEXT: Final = 255
_STATES: Final[dict[CheckState, str]] = {
    "pending": "pending", "success": "success", "failure": "failed",
}  # fmt: skip
_REPEATED: Final = "Cannot transition status"


class GitLabReports(GitLabPulls):
    """Writes the server's results to the forge; the protocol describes each operation."""

    async def report(self, status: StatusReport, known: str = "") -> str:
        """Set the commit status of a check; a new status replaces the one of its name.

        A status belongs to a pipeline of a branch. The pipelines of a fork's head belong to the
        fork, so nothing is sent about it.
        """
        if status.commit in self.fork_heads:
            return ""
        body = {
            "state": _STATES[status.state], "name": status.name[:MAX_TEXT],
            "description": status.summary[:MAX_TEXT],
            **({"target_url": status.url} if 0 < len(status.url) <= MAX_TEXT else {}),
        }  # fmt: skip
        path = f"{await self.find_root()}/statuses/{status.commit}"
        try:
            response = await self.api.send("POST", path, body, right=SCOPE)
        except ForgeError as error:
            if _REPEATED in error.message:  # it has this state already
                return known
            raise
        return str(decode(response, GitLabId).id)

    async def find_comment(self, number: int, marker: str) -> str:
        """Return the id of the token's own comment that begins with a marker, else empty."""
        logins = await self.bot_logins()
        path = f"{await self.find_root()}/merge_requests/{number}/notes"
        notes = await self.read_pages(
            path, list[GitLabNote], may_cut=True, order_by="created_at", sort="asc"
        )
        own = (
            str(note.id) for note in notes
            if note.body.startswith(marker) and not note.system and login(note.author) in logins
        )  # fmt: skip
        return next(own, "")

    async def comment(self, number: int, body: str, known: str = "") -> str:
        """Create a comment, or change the comment `known`; return its id."""
        path = f"{await self.find_root()}/merge_requests/{number}/notes"
        method, path = ("PUT", f"{path}/{known}") if known else ("POST", path)
        response = await self.api.send(method, path, {"body": disarm(body)}, right=SCOPE)
        return str(decode(response, GitLabId).id)

    async def release(self, release: NewRelease) -> None:
        """Create a release; do nothing if its tag has one."""
        body = {
            "tag_name": release.tag, "ref": release.commit, "name": release.name,
            "description": release.notes,
        }  # fmt: skip
        path = f"{await self.find_root()}/releases"
        try:
            await self.api.send("POST", path, body, right=SCOPE)
        except ForgeConflict:
            if not await self._has_release(f"{path}/{quote(release.tag, safe='')}"):
                raise

    async def _has_release(self, path: str) -> bool:
        try:
            await self.api.read(path, right=SCOPE)
        except ForgeGone:
            return False
        return True


# ---- Deployments and environments of a project on GitLab

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
