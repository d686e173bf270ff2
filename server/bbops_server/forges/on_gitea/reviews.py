"""Reviews, rules and checks of a repository on Gitea or Forgejo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

import msgspec

from bbops_server.forges.hosted import ForgeError, ForgeForbidden, ForgeGone
from bbops_server.forges.on_gitea.reports import READ_COMMENTS
from bbops_server.forges.on_gitea.repository import READ, GiteaRepository, same
from bbops_server.forges.on_gitea.shapes import (
    GiteaCommit,
    GiteaEvent,
    GiteaId,
    GiteaReview,
    GiteaStatus,
    GiteaStatuses,
)
from bbops_server.forges.values import BranchRules, CheckState, PullReview, doubt_earlier

TEAMS: Final = "read:organization"
_WRITERS: Final = frozenset({"owner", "admin", "write"})
_PATTERN: Final = frozenset("*?[")
_UNSUPPORTED: Final = frozenset("{\\")
_ANY: Final = "*"

_RETARGETED: Final = "change_target_branch"


class _Branch(msgspec.Struct):
    protected: bool = False
    required_approvals: int = 0
    enable_status_check: bool = False
    status_check_contexts: list[str] | None = None


class _Permission(msgspec.Struct):
    permission: str


class _Team(GiteaId):
    name: str


class _FoundTeams(msgspec.Struct):
    data: list[_Team] | None = None


class GiteaReviews(GiteaRepository):
    """Reads the facts that decide about a merge; the protocol describes each operation."""

    async def list_reviews(self, number: int) -> Sequence[PullReview]:
        """Return the submitted reviews of a pull request, oldest first."""
        path = f"{self.root}/pulls/{number}/reviews"
        reviews = await self.read_pages(path, list[GiteaReview], same)
        values = [value for review in reviews if (value := review.value()) is not None]
        path = f"{self.root}/issues/{number}/timeline"
        events = await self.read_pages(path, list[GiteaEvent], same, right=READ_COMMENTS)
        changes = [event.created_at for event in events if event.type == _RETARGETED]
        return doubt_earlier(sorted(values, key=lambda review: review.at), changes)

    async def list_authors(self, number: int) -> frozenset[str]:
        """Return the logins of the authors and committers of a pull request's commits.

        An author with an unknown address has no login, and neither has a co-author in a message.
        """
        path = f"{self.root}/pulls/{number}/commits"
        commits = await self.read_pages(
            path, list[GiteaCommit], same, verification="false", files="false"
        )
        users = (user for commit in commits for user in (commit.author, commit.committer))
        return frozenset(user.login for user in users if user and user.login)

    async def read_rules(self, branch: str) -> BranchRules:
        """Return the rules of the protection that applies to a branch.

        Readers of the repository may read them. They have no owners of files: CODEOWNERS only
        requests reviews there.

        Raises:
            ForgeError: a required check is named by an unsupported pattern.
        """
        path = f"{self.root}/branches/{quote(branch)}"
        try:
            found = await self.api.get(path, _Branch, right=READ)
        except ForgeGone:
            return BranchRules()
        if not found.protected:
            return BranchRules()
        names = found.status_check_contexts or [_ANY]
        required = names if found.enable_status_check else []
        _require_supported(branch, required)
        patterns = frozenset(name for name in required if _PATTERN & {*name})
        return BranchRules(
            found.required_approvals, frozenset(required) - patterns, patterns=patterns
        )

    async def list_checks(self, commit: str) -> Mapping[str, CheckState]:
        """Return the newest result of each status of a commit."""
        path = f"{self.root}/commits/{commit}/status"
        statuses = await self.read_pages(path, GiteaStatuses, _statuses)
        return {status.context: status.value() for status in statuses}

    async def may_write(self, login: str) -> bool:
        """Return whether a user may push to the repository.

        Raises:
            ForgeForbidden: the token's user is not an administrator of the repository.
        """
        path = f"{self.root}/collaborators/{quote(login, safe='')}/permission"
        try:
            found = await self.api.get(path, _Permission, right=READ)
        except ForgeGone:
            return False
        except ForgeForbidden as error:
            hint = "make the token's user an administrator of the repository"
            raise ForgeForbidden(error.message, hint=hint) from None
        return found.permission in _WRITERS

    async def is_team_member(self, team: str, login: str) -> bool:
        """Return whether a user is in a team, such as `acme/backend`."""
        organization, _, name = team.removeprefix("@").partition("/")
        path = f"/orgs/{quote(organization, safe='')}/teams/search"
        try:
            found = await self.api.get(path, _FoundTeams, right=TEAMS, q=name)
            teams = [each for each in found.data or () if each.name.lower() == name.lower()]
            for each in teams:
                member = f"/teams/{each.id}/members/{quote(login, safe='')}"
                await self.api.read(member, right=TEAMS)
        except ForgeGone:
            return False
        return bool(teams)


def _statuses(page: GiteaStatuses) -> Sequence[GiteaStatus]:
    return page.statuses or ()


def _require_supported(branch: str, names: Sequence[str]) -> None:
    found = next((name for name in names if _UNSUPPORTED & {*name}), None)
    if found is not None:
        raise ForgeError(
            f"the rules of '{branch}' require checks by '{found}', an unsupported pattern",
            hint="name each check, or use the wildcards * and ?",
        )
