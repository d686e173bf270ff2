"""Merge requests of a project on GitLab."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bbops_server.forges.api import decode
from bbops_server.forges.hosted import ForgeConflict, ForgeForbidden, ForgeGone, ForgeRejected
from bbops_server.forges.on_gitlab.project import READ, SCOPE, V4, GitLabProject
from bbops_server.forges.on_gitlab.shapes import GitLabPull, disarm
from bbops_server.forges.values import NewPullRequest, PullRequest

DRAFT: Final = "Draft: "
"""The prefix of a draft's title."""


class GitLabPulls(GitLabProject):
    """Reads, opens, merges and closes merge requests; the protocol describes each operation.

    Attributes:
        branches: by head, the branch of each open merge request of the project's own branches.
        fork_heads: the heads of open merge requests that no own branch has.
        target: the branch of the last list; empty before it.
    """

    branches: dict[str, str]
    fork_heads: frozenset[str] = frozenset()
    target = ""

    async def list_open(self, target: str) -> Sequence[PullRequest]:
        """Return the open merge requests of a branch, newest first; at most 2,000."""
        path = f"{await self.find_root()}/merge_requests"
        try:
            pulls = await self.read_pages(
                path, list[GitLabPull], may_cut=True, state="opened", target_branch=target,
                order_by="created_at", sort="desc",
            )  # fmt: skip
        except ForgeGone:
            self.forget_root()
            raise
        self.branches = {pull.sha or "": pull.source_branch for pull in pulls if not pull.is_fork}
        heads = {pull.sha or "" for pull in pulls if pull.is_fork}
        self.fork_heads, self.target = frozenset(heads - self.branches.keys()), target
        return [pull.value() for pull in pulls]

    async def get(self, number: int) -> PullRequest:
        """Return a merge request."""
        return (await self.read_pull(number)).value()

    async def find(self, branch: str, target: str) -> PullRequest | None:
        """Return the open merge request of a branch."""
        path = f"{await self.find_root()}/merge_requests"
        pulls = await self.read_pages(
            path, list[GitLabPull], state="opened", source_branch=branch, target_branch=target
        )
        return next((pull.value() for pull in pulls if not pull.is_fork), None)

    async def find_merged(self, commit: str) -> Sequence[PullRequest]:
        """Return the merged merge requests that brought a commit.

        The forge names a merge request for its own commits, its squash and its merge.
        """
        path = f"{await self.find_root()}/repository/commits/{commit}/merge_requests"
        try:
            pulls = await self.read_pages(path, list[GitLabPull], state="merged")
        except ForgeGone:
            return []
        return [pull.value() for pull in pulls if pull.state == "merged"]

    async def open(self, wish: NewPullRequest) -> PullRequest:
        """Open a merge request; a draft by the prefix of its title."""
        title = f"{DRAFT}{wish.title}" if wish.is_draft else wish.title
        body = {
            "source_branch": wish.branch, "target_branch": wish.target, "title": title,
            "description": disarm(wish.body),
        }  # fmt: skip
        path = f"{await self.find_root()}/merge_requests"
        response = await self.api.send("POST", path, body, right=SCOPE)
        return decode(response, GitLabPull).value()

    async def merge(self, number: int, head: str) -> str:
        """Merge a merge request by the project's method, and its own choice to squash."""
        path = f"{await self.find_root()}/merge_requests/{number}/merge"
        try:
            response = await self.api.send("PUT", path, {"sha": head}, right=SCOPE)
        except ForgeConflict as error:
            raise await self._explain(number, error) from None
        except ForgeRejected as error:  # also the answer to a user who may not merge
            await self.api.read(f"{V4}/user")
            hint = "allow the token's user to merge in the settings of the protected branch"
            raise ForgeForbidden(error.message, hint=hint) from None
        pull = decode(response, GitLabPull)
        if pull.state != "merged":
            raise ForgeConflict(f"merge request {number} is not merged yet")
        return pull.merged_commit

    async def close(self, number: int) -> None:
        """Close a merge request without a merge."""
        path = f"{await self.find_root()}/merge_requests/{number}"
        await self.api.send("PUT", path, {"state_event": "close"}, right=SCOPE)

    async def read_pull(self, number: int) -> GitLabPull:
        """Return a merge request as the forge describes it."""
        path = f"{await self.find_root()}/merge_requests/{number}"
        return await self.api.get(path, GitLabPull, right=READ)

    async def _explain(self, number: int, error: ForgeConflict) -> ForgeConflict:
        """Return the reason that a merge is blocked, which the refusal itself leaves out."""
        pull = await self.read_pull(number)
        if pull.state != "opened":
            return ForgeConflict(f"{error.message}; merge request {number} is {pull.state}")
        status = pull.detailed_merge_status.replace("_", " ")
        return ForgeConflict(f"{error.message}; GitLab's merge status is '{status}'")
