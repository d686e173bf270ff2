"""The rights of the server's token on GitLab.

The scope is tried by a write that changes nothing: of merge request 0. The forge checks the scope
first (403). The project reports the role of the token's user.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from bbops_server.forges.hosted import ForgeError, ForgeForbidden, ForgeGone, ForgeRejected
from bbops_server.forges.on_gitlab.project import SCOPE, V4, GitLabProject
from bbops_server.forges.on_gitlab.reviews import DEVELOPER
from bbops_server.forges.values import ForgeRight

ROLE: Final = "the role Developer"
PURPOSES: Final[Mapping[str, str]] = {
    SCOPE: "reads merge requests, and writes what the role allows",
    ROLE: "pushes drafts, reports checks, comments, deploys, merges and creates releases",
}
"""The purpose of each right."""


class _Access(msgspec.Struct):
    access_level: int = 0


class _Permissions(msgspec.Struct):
    project_access: _Access | None = None
    group_access: _Access | None = None


class GitLabAccess(msgspec.Struct):
    """A visible project with the roles of the token's user."""

    permissions: _Permissions = msgspec.field(default_factory=_Permissions)

    def level(self) -> int:
        """Return the role of the token's user, as a number."""
        found = (self.permissions.project_access, self.permissions.group_access)
        return max(each.access_level if each else 0 for each in found)


class GitLabRights(GitLabProject):
    """Checks the token's rights."""

    async def check_rights(self) -> Sequence[ForgeRight]:
        """Return the rights that the server needs, and whether the token has each.

        Raises:
            ForgeError: the token is not valid, or the forge cannot be reached.
        """
        await self.api.read(f"{V4}/user")
        granted = dict.fromkeys(PURPOSES, False)
        try:
            root = await self.find_root()
            project = await self.api.get(root, GitLabAccess)
        except ForgeRejected:
            raise
        except (ForgeForbidden, ForgeGone):
            pass
        else:
            granted = {
                SCOPE: await self._may_send(f"{root}/merge_requests/0"),
                ROLE: project.level() >= DEVELOPER,
            }
        return [ForgeRight(name, PURPOSES[name], granted[name]) for name in PURPOSES]

    async def _may_send(self, path: str) -> bool:
        """Return whether the token's scope accepts a write."""
        try:
            await self.api.send("PUT", path, {"title": "bbops"})
        except ForgeRejected:
            raise
        except ForgeForbidden:
            return False
        except ForgeGone:
            return True
        except ForgeError as error:
            if "answered with 400" in error.message:  # the scope is there, the value is not valid
                return True
            raise
        return True
