"""Projects of a repository that a commit changes, and whether a user may change them all.

A user with rights in one of several projects works in its folder. A file outside of the folders
belongs to all projects, and so does a file that two projects share, as on two branches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bbops.source.git.revisions import Part
from bbops_server.accounts.rules import Caller, Permission, may
from bbops_server.git_http.repository import Repository
from bbops_server.process.children import SupervisedChild
from bbops_server.process.messages.repositories import FindChangedParts

REACH_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class AccessCheck:
    """The check whether a user has a permission in each project that commits change."""

    build: SupervisedChild
    repository: Repository
    caller: Caller
    permission: Permission

    async def find_foreign(self, *commits: str, quarantine: str = "") -> str:
        """Return the reason why the user may not change files as commits do; empty if they may.

        Reads no commits for a user with the permission in every project of the repository.

        Args:
            commits: whole ids.
            quarantine: their folder until a push is accepted.

        Raises:
            BbopsError: the repository cannot be read.
        """
        followers = self.repository.followers
        lacking = [not may(self.caller, self.permission, found.name) for found in followers]
        if not any(lacking):
            return ""
        touched = await self._find_touched(commits, quarantine)
        both = zip(followers, lacking, touched, strict=True)
        names = [
            follower.name for follower, is_lacking, is_touched in both if is_lacking and is_touched
        ]
        return _complain(self.permission, names) if names else ""

    async def _find_touched(self, commits: Sequence[str], quarantine: str) -> Sequence[bool]:
        followers = self.repository.followers
        parts = [Part(found.source.branch, found.source.path) for found in followers]
        asked = FindChangedParts(
            str(followers[0].source.repository), quarantine, list(commits),
            self.repository.main_branch, parts,
        )  # fmt: skip
        return (await self.build.ask(asked, timeout_seconds=REACH_SECONDS)).touched


def _complain(permission: Permission, names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names)
    return (
        f"this changes files of {shown} in the same repository, or of no project alone:"
        f" you may not {permission} there; ask a maintainer there, or do not change those files"
    )
