"""Which projects of a repository a commit changes, and whether somebody may change them all.

Who has rights in one project of several works in its folder. A file in no project's folder is
everybody's, and so is one that two projects share, as those of two branches do.
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
class Asking:
    """Somebody who wants to do something, and the repository it is about."""

    build: SupervisedChild
    repository: Repository
    caller: Caller
    permission: Permission

    async def find_foreign(self, *commits: str, quarantine: str = "") -> str:
        """Return why somebody may not do it with commits; empty where they may.

        Costs nothing for who has the same right in every project of the repository.

        Args:
            commits: whole ids.
            quarantine: where they are, until a push is accepted.

        Raises:
            BbopsError: the repository cannot be read.
        """
        followers = self.repository.followers
        lacking = [not may(self.caller, self.permission, one.name) for one in followers]
        if not any(lacking):
            return ""
        touched = await self._find_touched(commits, quarantine)
        both = zip(followers, lacking, touched, strict=True)
        names = [one.name for one, is_lacking, is_touched in both if is_lacking and is_touched]
        return _complain(self.permission, names) if names else ""

    async def _find_touched(self, commits: Sequence[str], quarantine: str) -> Sequence[bool]:
        followers = self.repository.followers
        parts = [Part(one.source.branch, one.source.path) for one in followers]
        asked = FindChangedParts(
            str(followers[0].source.repository), quarantine, list(commits),
            self.repository.main_branch, parts,
        )  # fmt: skip
        return (await self.build.ask(asked, timeout_seconds=REACH_SECONDS)).touched


def _complain(permission: Permission, names: Sequence[str]) -> str:
    shown = ", ".join(f"'{one}'" for one in names)
    return (
        f"this changes files of {shown} in the same repository, or of no project alone:"
        f" you may not {permission} there; ask a maintainer there, or do not change those files"
    )
