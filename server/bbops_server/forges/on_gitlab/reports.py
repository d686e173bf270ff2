"""Statuses, comments and releases of the server on GitLab."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from bbops_server.forges.api import decode
from bbops_server.forges.hosted import ForgeConflict, ForgeError, ForgeGone
from bbops_server.forges.on_gitlab.project import SCOPE
from bbops_server.forges.on_gitlab.pulls import GitLabPulls
from bbops_server.forges.on_gitlab.quick_actions import disarm
from bbops_server.forges.on_gitlab.shapes import GitLabId, GitLabNote, login
from bbops_server.forges.values import CheckState, NewRelease, StatusReport

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
