"""Pull requests of a repository on Gitea or Forgejo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from bbops_server.forges.api import decode
from bbops_server.forges.hosted import ForgeConflict, ForgeGone
from bbops_server.forges.on_gitea.repository import READ, WRITE, GiteaRepository, read_total, same
from bbops_server.forges.on_gitea.shapes import GiteaPull
from bbops_server.forges.values import NewPullRequest, PullRequest

DRAFT: Final = "WIP: "
"""The prefix of a draft's title, which is in the default settings of each forge."""


class _MergeStyles(msgspec.Struct):
    default_merge_style: str = "merge"
    allow_merge_commits: bool = True
    allow_squash_merge: bool = True
    allow_rebase_explicit: bool = False
    allow_rebase: bool = True
    allow_fast_forward_only_merge: bool = False

    def _allowed(self) -> Iterator[str]:
        if self.allow_merge_commits:
            yield "merge"
        if self.allow_squash_merge:
            yield "squash"
        if self.allow_rebase_explicit:
            yield "rebase-merge"
        if self.allow_rebase:
            yield "rebase"
        if self.allow_fast_forward_only_merge:
            yield "fast-forward-only"

    def preferred(self) -> str:
        allowed = list(self._allowed())
        default = self.default_merge_style
        return default if default in allowed else next(iter(allowed), "merge")


class GiteaPulls(GiteaRepository):
    """Reads, opens, merges and closes pull requests; the protocol describes each operation."""

    async def list_open(self, target: str) -> Sequence[PullRequest]:
        """Return the open pull requests of a branch, newest first.

        At most 2,000 open ones of the repository are read: only newer versions filter by branch.
        """
        path = f"{self.root}/pulls"
        pulls = await self.read_pages(path, list[GiteaPull], same, may_cut=True, state="open")
        return [pull.value() for pull in pulls if pull.base.ref == target]

    async def get(self, number: int) -> PullRequest:
        """Return a pull request."""
        return (await self._get(number)).value()

    async def find(self, branch: str, target: str) -> PullRequest | None:
        """Return the open pull request of a branch."""
        listed = await self.list_open(target)
        own = (pull for pull in listed if pull.branch == branch and not pull.is_fork)
        return next(own, None)

    async def find_merged(self, commit: str) -> Sequence[PullRequest]:
        """Return the pull request that was merged as a commit, with the number of its commits.

        After a rebase, the forge names it for the last commit alone.
        """
        path = f"{self.root}/commits/{commit}/pull"
        try:
            pull = await self.api.get(path, GiteaPull, right=READ)
        except ForgeGone:
            return []
        return [pull.value(await self._count_commits(pull.number))] if pull.merged else []

    async def open(self, wish: NewPullRequest) -> PullRequest:
        """Open a pull request; a draft by the prefix of its title."""
        title = f"{DRAFT}{wish.title}" if wish.is_draft else wish.title
        body = {"title": title, "body": wish.body, "head": wish.branch, "base": wish.target}
        response = await self.api.send("POST", f"{self.root}/pulls", body, right=WRITE)
        return decode(response, GiteaPull).value()

    async def merge(self, number: int, head: str) -> str:
        """Merge a pull request by the repository's default style, or an allowed one."""
        styles = await self.api.get(self.root, _MergeStyles, right=READ)
        body = {"Do": styles.preferred(), "head_commit_id": head}
        await self.api.send("POST", f"{self.root}/pulls/{number}/merge", body, right=WRITE)
        pull = await self._get(number)
        if not (pull.merged and pull.merge_commit_sha):
            raise ForgeConflict(f"pull request {number} is not merged yet")
        return pull.merge_commit_sha

    async def close(self, number: int) -> None:
        """Close a pull request without a merge."""
        path = f"{self.root}/pulls/{number}"
        await self.api.send("PATCH", path, {"state": "closed"}, right=WRITE)

    async def _get(self, number: int) -> GiteaPull:
        return await self.api.get(f"{self.root}/pulls/{number}", GiteaPull, right=READ)

    async def _count_commits(self, number: int) -> int:
        response = await self.api.read(
            f"{self.root}/pulls/{number}/commits", right=READ,
            page=1, limit=1, verification="false", files="false",
        )  # fmt: skip
        return read_total(response) or 0
