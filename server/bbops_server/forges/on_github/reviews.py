"""Reviews, rules and checks of a repository on GitHub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

import msgspec

from bbops_server.forges.hosted import ForgeError, ForgeForbidden, ForgeGone
from bbops_server.forges.on_github.pulls import READ
from bbops_server.forges.on_github.repository import GitHubRepository
from bbops_server.forges.on_github.shapes import (
    CheckRuns,
    CombinedStatus,
    GitHubCommit,
    GitHubEvent,
    GitHubReview,
)
from bbops_server.forges.values import BranchRules, CheckState, PullReview, doubt_earlier

MAX_COMMITS: Final = 250
"""The most commits of a pull request that GitHub lists."""

_RETARGETED: Final = frozenset({"base_ref_changed", "automatic_base_change_succeeded"})
_WRITERS: Final = frozenset({"admin", "maintain", "write"})
_WORST_LAST: Final[tuple[CheckState, ...]] = ("success", "pending", "failure")


class _Check(msgspec.Struct):
    context: str


class _RuleParameters(msgspec.Struct):
    required_approving_review_count: int = 0
    require_code_owner_review: bool = False
    required_status_checks: list[_Check] = []


class _Rule(msgspec.Struct):
    type: str
    parameters: _RuleParameters | None = None


class _RequiredChecks(msgspec.Struct):
    contexts: list[str] = []


class _RequiredReviews(msgspec.Struct):
    required_approving_review_count: int = 0
    require_code_owner_reviews: bool = False


class _Protection(msgspec.Struct):
    enabled: bool = True
    required_status_checks: _RequiredChecks | None = None
    required_pull_request_reviews: _RequiredReviews | None = None

    def rules(self) -> BranchRules:
        reviews = self.required_pull_request_reviews or _RequiredReviews()
        checks = self.required_status_checks or _RequiredChecks()
        return BranchRules(
            reviews.required_approving_review_count, frozenset(checks.contexts),
            needs_owners=reviews.require_code_owner_reviews,
        )  # fmt: skip


class _Branch(msgspec.Struct):
    protected: bool = False
    protection: _Protection | None = None


class _Permission(msgspec.Struct):
    permission: str
    role_name: str = ""


class _Membership(msgspec.Struct):
    state: str


class GitHubReviews(GitHubRepository):
    """Reads the facts that decide about a merge; the protocol describes each operation."""

    _may_read_protection = True

    async def list_reviews(self, number: int) -> Sequence[PullReview]:
        """Return the submitted reviews of a pull request, oldest first.

        GitHub itself keeps approvals after a change of the target branch, unless a rule dismisses
        them.
        """
        path = f"{self.root}/pulls/{number}/reviews"
        pages = self.api.pages(path, list[GitHubReview], right=READ)
        values = [review.value() async for page in pages for review in page]
        path = f"{self.root}/issues/{number}/events"
        events = self.api.pages(path, list[GitHubEvent], right=READ)
        changes = [
            event.created_at async for page in events for event in page
            if event.event in _RETARGETED
        ]  # fmt: skip
        return doubt_earlier([review for review in values if review is not None], changes)

    async def list_authors(self, number: int) -> frozenset[str]:
        """Return the logins of the authors and committers of a pull request's commits.

        GitHub resolves e-mail addresses of accounts only. A co-author in a commit's message has no
        login here, and neither has an author with an unknown address.

        Raises:
            ForgeError: GitHub does not list all of its commits.
        """
        path = f"{self.root}/pulls/{number}/commits"
        pages = self.api.pages(path, list[GitHubCommit], right=READ)
        commits = [commit async for page in pages for commit in page]
        if len(commits) >= MAX_COMMITS:
            raise ForgeError(
                f"pull request {number} has {MAX_COMMITS} commits or more, and GitHub lists only"
                " the first of them", hint="merge it in smaller parts, or squash its commits",
            )  # fmt: skip
        users = (user for commit in commits for user in (commit.author, commit.committer))
        return frozenset(user.login for user in users if user and user.login)

    async def read_rules(self, branch: str) -> BranchRules:
        """Return the rules of rulesets and of classic protection, as far as they are readable.

        Approvals of classic protection need the right `administration: read`.
        """
        name = quote(branch, safe="")
        found = [await self._read_rulesets(name), await self._read_protection(name)]
        return BranchRules(
            max(rules.approvals for rules in found),
            frozenset[str]().union(*(rules.checks for rules in found)),
            needs_owners=any(rules.needs_owners for rules in found),
        )

    async def list_checks(self, commit: str) -> Mapping[str, CheckState]:
        """Return the newest result of each check and status of a commit.

        A check and a status of the same name count as the worse of both, as for GitHub itself.
        """
        path, results = f"{self.root}/commits/{commit}", dict[str, CheckState]()
        runs = self.api.pages(f"{path}/check-runs", CheckRuns, right="checks: read")
        listed = [run async for page in runs for run in page.check_runs]
        for run in sorted(listed, key=lambda run: run.id):
            results[run.name] = run.state()
        pages = self.api.pages(f"{path}/status", CombinedStatus, right="statuses: read")
        statuses = [status async for page in pages for status in page.statuses]
        for status in statuses:
            states = (status.value(), results.get(status.context, "success"))
            results[status.context] = max(states, key=_WORST_LAST.index)
        return results

    async def may_write(self, login: str) -> bool:
        """Return whether a user may push to the repository."""
        path = f"{self.root}/collaborators/{quote(login, safe='')}/permission"
        try:
            found = await self.api.get(path, _Permission, right="metadata: read")
        except ForgeGone:
            return False
        return found.permission in _WRITERS or found.role_name in _WRITERS

    async def is_team_member(self, team: str, login: str) -> bool:
        """Return whether a user is an active member of a team, such as `acme/backend`."""
        organization, _, slug = team.removeprefix("@").partition("/")
        names = [quote(name, safe="") for name in (organization, slug, login)]
        path = "/orgs/{}/teams/{}/memberships/{}".format(*names)
        try:
            found = await self.api.get(path, _Membership, right="members: read")
        except ForgeGone:
            return False
        return found.state == "active"

    async def _read_rulesets(self, branch: str) -> BranchRules:
        path = f"{self.root}/rules/branches/{branch}"
        try:
            pages = self.api.pages(path, list[_Rule], right="metadata: read")
            rules = [rule async for page in pages for rule in page]
        except ForgeGone:  # GitHub Enterprise Server before 3.11
            return BranchRules()
        except ForgeForbidden as error:
            if "Upgrade to" in error.message:  # the plan of the owner has no rulesets
                return BranchRules()
            raise
        found = [rule.parameters for rule in rules if rule.parameters]
        checks = (check.context for rule in found for check in rule.required_status_checks)
        return BranchRules(
            max((rule.required_approving_review_count for rule in found), default=0),
            frozenset(checks),
            needs_owners=any(rule.require_code_owner_review for rule in found),
        )

    async def _read_protection(self, branch: str) -> BranchRules:
        """Return the rules of classic protection: all, or the checks that everybody may read."""
        path = f"{self.root}/branches/{branch}"
        try:
            found = await self.api.get(path, _Branch, right="contents: read")
        except ForgeGone:
            return BranchRules()
        public = found.protection
        if not found.protected or public is None or not public.enabled:
            return BranchRules()
        full = await self._read_full_protection(f"{path}/protection")
        return (full or public).rules()

    async def _read_full_protection(self, path: str) -> _Protection | None:
        if not self._may_read_protection:
            return None
        try:
            return await self.api.get(path, _Protection, right="administration: read")
        except ForgeForbidden:
            self._may_read_protection = False
        except ForgeGone:
            pass
        return None
