"""Statuses, comments and releases of the server on Gitea or Forgejo."""

from __future__ import annotations

from typing import Final, NoReturn
from urllib.parse import quote

from bbops_server.forges.api import decode
from bbops_server.forges.hosted import ForgeConflict, ForgeError, ForgeGone
from bbops_server.forges.on_gitea.repository import READ, WRITE, GiteaRepository
from bbops_server.forges.on_gitea.shapes import GiteaComment, GiteaId, login
from bbops_server.forges.values import Deployment, NewRelease, StatusReport

COMMENTS: Final = "write:issue"
READ_COMMENTS: Final = "read:issue"


class GiteaReports(GiteaRepository):
    """Writes the server's results to the forge; the protocol describes each operation."""

    async def report(self, status: StatusReport, known: str = "") -> str:
        """Set the commit status of a check; a new status replaces the one of its name."""
        del known
        body = {
            "state": status.state, "context": status.name, "description": status.summary,
            "target_url": status.url,
        }  # fmt: skip
        path = f"{self.root}/statuses/{status.commit}"
        response = await self.api.send("POST", path, body, right=WRITE)
        return str(decode(response, GiteaId).id)

    async def find_comment(self, number: int, marker: str) -> str:
        """Return the id of the token's own comment that begins with a marker, else empty."""
        logins = await self.bot_logins()
        path = f"{self.root}/issues/{number}/comments"  # a list without pages
        comments = await self.api.get(path, list[GiteaComment], right=READ_COMMENTS)
        own = (
            str(comment.id) for comment in comments
            if comment.body.startswith(marker) and login(comment.user) in logins
        )  # fmt: skip
        return next(own, "")

    async def comment(self, number: int, body: str, known: str = "") -> str:
        """Create a comment, or change the comment `known`; return its id."""
        path, method = f"{self.root}/issues/{number}/comments", "POST"
        if known:
            path, method = f"{self.root}/issues/comments/{known}", "PATCH"
        response = await self.api.send(method, path, {"body": body}, right=COMMENTS)
        return str(decode(response, GiteaId).id)

    async def deploy(self, deployment: Deployment, known: str = "") -> str:
        """Raise ForgeError: the forge has no deployments."""
        del known
        self._refuse(deployment.environment)

    async def find_deployment(self, environment: str, commit: str) -> str:
        """Raise ForgeError: the forge has no deployments."""
        del commit
        self._refuse(environment)

    async def release(self, release: NewRelease) -> None:
        """Create a release; do nothing if its tag has one."""
        body = {
            "tag_name": release.tag, "target_commitish": release.commit, "name": release.name,
            "body": release.notes,
        }  # fmt: skip
        try:
            await self.api.send("POST", f"{self.root}/releases", body, right=WRITE)
        except ForgeConflict:
            if not await self._has_release(release.tag):
                raise

    async def _has_release(self, tag: str) -> bool:
        try:
            await self.api.read(f"{self.root}/releases/tags/{quote(tag, safe='')}", right=READ)
        except ForgeGone:
            return False
        return True

    def _refuse(self, environment: str) -> NoReturn:
        raise ForgeError(f"'{self.kind}' has no deployments, so '{environment}' cannot be set")
