"""The rules for merges on GitLab."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from bbops_server.forges.hosted import ForgeForbidden, ForgeGone
from bbops_server.forges.on_gitlab.checks import GitLabChecks
from bbops_server.forges.on_gitlab.shapes import (
    GitLabApproval,
    GitLabNote,
    GitLabReviewer,
    GitLabVersion,
    login,
)
from bbops_server.forges.values import BranchRules, PullReview

ROLE: Final = "the role Developer or Maintainer"
_COUNTED: Final = frozenset({"any_approver", "regular"})
"""The kinds of approval rules that hold for every merge request."""

_ANY: Final = frozenset({"*"})


class _Project(msgspec.Struct):
    """The rules of a project; only paid tiers have `approvals_before_merge`."""

    only_allow_merge_if_pipeline_succeeds: bool | None = None
    approvals_before_merge: int | msgspec.UnsetType | None = msgspec.UNSET


class _Protected(msgspec.Struct):
    name: str
    code_owner_approval_required: bool = False

    def covers(self, branch: str) -> bool:
        """Return whether a branch is protected by this name, in which `*` stands for any text."""
        pattern = ".*".join(map(re.escape, self.name.split("*")))
        return re.fullmatch(pattern, branch) is not None


class _ApprovalRule(msgspec.Struct):
    rule_type: str
    approvals_required: int = 0
    applies_to_all_protected_branches: bool = False
    protected_branches: list[_Protected] = []

    def covers(self, branch: str, *, is_protected: bool) -> bool:
        """Return whether the rule is about a branch; a rule without branches is about all."""
        if self.applies_to_all_protected_branches:
            return is_protected
        named = self.protected_branches
        return not named or any(each.covers(branch) for each in named)


class GitLabRules(GitLabChecks):
    """Reads rules and checks; the protocol describes each operation."""

    async def read_rules(self, branch: str) -> BranchRules:
        """Return the rules of the project, of its approval rules and of a protected branch.

        GitLab has no list of required checks. "Pipelines must succeed" requires at least one check
        of the head, and the success of all.

        Raises:
            ForgeForbidden: the token's user may not read them.
        """
        root = await self.find_root()
        project = await self.api.get(root, _Project, right=ROLE)
        listed = await self.read_pages(f"{root}/protected_branches", list[_Protected], right=ROLE)
        protected = [each for each in listed if each.covers(branch)]
        default = project.approvals_before_merge
        is_paid = default is not msgspec.UNSET
        rules = await self._list_approval_rules(f"{root}/approval_rules", is_paid=is_paid)
        counts = [
            rule.approvals_required for rule in rules
            if rule.rule_type in _COUNTED and rule.covers(branch, is_protected=bool(protected))
        ]  # fmt: skip
        return BranchRules(
            max([*counts, default or 0 if isinstance(default, int) else 0]),
            needs_owners=any(each.code_owner_approval_required for each in protected),
            patterns=_ANY if project.only_allow_merge_if_pipeline_succeeds else frozenset(),
        )

    async def _list_approval_rules(self, path: str, *, is_paid: bool) -> Sequence[_ApprovalRule]:
        """Return the approval rules; none on the free tier, which has none."""
        try:
            return await self.read_pages(path, list[_ApprovalRule], right=ROLE)
        except ForgeGone:
            return ()
        except ForgeForbidden:
            if is_paid:
                raise
            return ()


# ---- Assign the approvals of a merge request to heads. Pure
# GitLab's approvals are of a merge request, not of a commit, and stay after a push unless a
# setting removes them. So an approval is of the newest version before it: an approval that is
# older than the head never counts for the head. Neither does an approval of the same head with
# another base: after a change of the target branch, the merge request has changes that its
# reviewers did not see.

APPROVED: Final = "approved this merge request"
"""The body of the event of an approval."""

_PUSHED: Final = re.compile(r"added \d+ (?:new )?commits?\b", re.IGNORECASE).match
_SHOWN: Final = 7
_UNKNOWN: Final = (
    "does not count: GitLab does not say when it was given; revoke it and approve again"
)


def list_verdicts(
    approvals: Sequence[GitLabApproval], reviewers: Sequence[GitLabReviewer],
    versions: Sequence[GitLabVersion], times: Mapping[str, datetime],
) -> Iterator[PullReview]:  # fmt: skip
    """Yield the approvals, then the refusals of reviewers.

    Args:
        approvals: the approvals that were not revoked.
        reviewers: the reviewers with the state of each.
        versions: the versions of the merge request, in any order.
        times: by login, the time of an approval without a time of its own.
    """
    newest = max(versions, key=_created, default=None)
    for approval in approvals:
        who = approval.user.username
        at = approval.approved_at or times.get(who)
        version = _find_version(versions, at) if at is not None else None
        head = version.head_commit_sha if version else ""
        yield PullReview(who, "approved", head, at or _EVER, doubt=_find_doubt(version, newest))
    for reviewer in reviewers:
        if reviewer.state == "requested_changes":
            head = newest.head_commit_sha if newest else ""
            yield PullReview(reviewer.user.username, "refused", head, reviewer.created_at)


def find_times(notes: Sequence[GitLabNote]) -> Mapping[str, datetime]:
    """Return the time of each user's newest approval, by the events of a merge request."""
    times = dict[str, datetime]()
    for note in notes:
        if note.system and note.created_at and note.body.strip().lower() == APPROVED:
            who = login(note.author)
            times[who] = max(note.created_at, times.get(who, note.created_at))
    return times


def is_push(note: GitLabNote) -> bool:
    """Return whether a note is the event of a push to the branch of a merge request."""
    return note.system and _PUSHED(note.body) is not None


def _find_version(versions: Sequence[GitLabVersion], at: datetime) -> GitLabVersion | None:
    """Return the version at a time; None before the first version."""
    before = [version for version in versions if version.created_at < at]
    return max(before, key=_created, default=None)


def _find_doubt(version: GitLabVersion | None, newest: GitLabVersion | None) -> str:
    """Return why the approval of a version does not count; empty if its head decides."""
    if version is None or newest is None or not version.head_commit_sha:
        return _UNKNOWN
    old, new = version.base_commit_sha or "", newest.base_commit_sha or ""
    if version.head_commit_sha != newest.head_commit_sha or old == new:
        return ""
    return (
        f"was of the changes since {old[:_SHOWN]}, and those since {new[:_SHOWN]} were merged, such"
        " as after a change of the target branch; revoke it and approve again"
    )


def _created(version: GitLabVersion) -> datetime:
    return version.created_at


_EVER: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
