"""The rules for merges on GitLab."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from bbops_server.forges.hosted import ForgeForbidden, ForgeGone
from bbops_server.forges.on_gitlab.checks import GitLabChecks
from bbops_server.forges.values import BranchRules

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
