"""The rights of the server's credential on GitHub.

A fine-grained token does not list its rights, and reads of a public repository prove none. So each
right is tried by a write that cannot succeed: of a commit, branch or tag that cannot exist. GitHub
checks the right first (403 or 404), the values second (422).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from bbops_server.forges.github_app import Installation
from bbops_server.forges.hosted import ForgeConflict, ForgeForbidden, ForgeGone
from bbops_server.forges.on_github.repository import GitHubRepository
from bbops_server.forges.values import ForgeRight

NO_COMMIT: Final = "0" * 40
_NO_REF: Final = "bbops/does/not/exist"
_LEVELS: Final = ("read", "write", "admin")
_MEMBERS, _ORGANIZATION = "members: read", "Organization"

PURPOSES: Final[Mapping[str, str]] = {
    "metadata: read": "finds the repository and the rules of its branches",
    "contents: write": "pushes drafts, merges pull requests and creates releases",
    "pull_requests: write": "lists, opens, comments and closes pull requests",
    "checks: write": "reports checks with annotations",
    "checks: read": "reads required checks",
    "statuses: write": "reports checks",
    "statuses: read": "reads required checks",
    "deployments: write": "shows previews and production",
    "members: read": "counts approvals of teams in CODEOWNERS",
}
"""The purpose of each right, by the name that GitHub gives it."""

APP_RIGHTS: Final = tuple(
    name for name in PURPOSES if name not in {"checks: read", "statuses: write"}
)
"""The rights of an App, which writes check runs."""
TOKEN_RIGHTS: Final = tuple(
    name for name in PURPOSES if name not in {"checks: write", "statuses: read"}
)
"""The rights of a token, which writes commit statuses."""
_TRIALS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "contents: write": ("git/refs", {"ref": f"refs/heads/{_NO_REF}", "sha": NO_COMMIT}),
    "pull_requests: write": ("pulls", {"title": "bbops", "head": _NO_REF, "base": _NO_REF}),
    "statuses: write": (f"statuses/{NO_COMMIT}", {"state": "pending", "context": "bbops"}),
    "deployments: write": ("deployments", {"ref": _NO_REF, "required_contexts": []}),
}
"""Writes that cannot succeed, by the right that they need."""


class _Owner(msgspec.Struct):
    login: str
    type: str = "User"


class _OwnedRepository(msgspec.Struct):
    owner: _Owner


class GitHubRights(GitHubRepository):
    """Checks the credential's rights."""

    async def check_rights(self) -> Sequence[ForgeRight]:
        """Return the rights that the server needs, and whether the credential has each.

        Teams are of organizations: the repository of a user needs no right for them.

        Raises:
            ForgeError: the credential is not valid, or GitHub cannot be reached.
        """
        if self.app is not None:
            installation = await self.app.read_installation()
            return [_right(name, _covers(installation, name)) for name in APP_RIGHTS]
        try:
            repository = await self.api.get(self.root, _OwnedRepository)
        except ForgeGone:
            return [_right(name, is_granted=False) for name in TOKEN_RIGHTS]
        return [
            _right(name, await self._has_right(name, repository.owner)) for name in TOKEN_RIGHTS
        ]

    async def _has_right(self, name: str, owner: _Owner) -> bool:
        """Return whether a token for a visible repository has a right."""
        if name in _TRIALS:
            return await self._try(*_TRIALS[name])
        if name == _MEMBERS and owner.type == _ORGANIZATION:
            return await self._can_read(f"/orgs/{owner.login}/teams")
        if name == "checks: read":
            return await self._can_read(f"{self.root}/commits/HEAD/check-runs")
        return True

    async def _can_read(self, path: str) -> bool:
        try:
            await self.api.read(path)
        except (ForgeForbidden, ForgeGone):
            return False
        return True

    async def _try(self, path: str, body: Mapping[str, Any]) -> bool:
        try:
            await self.api.send("POST", f"{self.root}/{path}", body)
        except (ForgeForbidden, ForgeGone):
            return False
        except ForgeConflict:  # the right is there, the commit or branch is not
            return True
        return True


def _covers(installation: Installation, name: str) -> bool:
    permission, _, level = name.partition(": ")
    if name == _MEMBERS and installation.target_type != _ORGANIZATION:
        return True
    found = installation.permissions.get(permission, "")
    return found in _LEVELS and _LEVELS.index(found) >= _LEVELS.index(level)


def _right(name: str, is_granted: bool) -> ForgeRight:
    return ForgeRight(name, PURPOSES[name], is_granted)
