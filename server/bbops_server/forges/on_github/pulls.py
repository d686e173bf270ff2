"""Pull requests of a repository on GitHub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from bbops.base.render import one_line
from bbops_server.forges.api import ForgeApi, decode
from bbops_server.forges.hosted import ForgeConflict, ForgeForbidden
from bbops_server.forges.on_github.repository import GitHubRepository, find_graphql
from bbops_server.forges.on_github.shapes import GitHubPull
from bbops_server.forges.values import NewPullRequest, PullRequest

READ: Final = "pull_requests: read"
WRITE: Final = "pull_requests: write"
MERGE: Final = "contents: write"
_METHODS: Final = ("merge", "squash", "rebase")


class _MergeMethods(msgspec.Struct):
    allow_merge_commit: bool = True
    allow_squash_merge: bool = True
    allow_rebase_merge: bool = True

    def preferred(self) -> str:
        allowed = (self.allow_merge_commit, self.allow_squash_merge, self.allow_rebase_merge)
        methods = zip(_METHODS, allowed, strict=True)
        return next((method for method, is_allowed in methods if is_allowed), "merge")


class _MergeResult(msgspec.Struct):
    sha: str


class GitHubPulls(GitHubRepository):
    """Reads, opens, merges and closes pull requests; the protocol describes each operation."""

    async def list_open(self, target: str) -> Sequence[PullRequest]:
        """Return the open pull requests of a branch, newest first, at most 2,000."""
        pages = self.api.pages(
            f"{self.root}/pulls", list[GitHubPull], right=READ, may_cut=True,
            state="open", base=target, sort="created", direction="desc",
        )  # fmt: skip
        return [pull.value() async for page in pages for pull in page]

    async def get(self, number: int) -> PullRequest:
        """Return a pull request."""
        pull = await self.api.get(f"{self.root}/pulls/{number}", GitHubPull, right=READ)
        return pull.value()

    async def find(self, branch: str, target: str) -> PullRequest | None:
        """Return the open pull request of a branch. The owner's old name finds none."""
        owner = self.repository.partition("/")[0]
        pulls = await self.api.get(
            f"{self.root}/pulls", list[GitHubPull], right=READ,
            state="open", base=target, head=f"{owner}:{branch}",
        )  # fmt: skip
        listed: Sequence[PullRequest] = [pull.value() for pull in pulls]
        if not listed and self.api.moved:
            listed = await self.list_open(target)
        own = (pull for pull in listed if pull.branch == branch and not pull.is_fork)
        return next(own, None)

    async def find_merged(self, commit: str) -> Sequence[PullRequest]:
        """Return the merged pull requests of a commit; none for a commit that GitHub lacks."""
        path = f"{self.root}/commits/{commit}/pulls"
        try:
            pages = self.api.pages(path, list[GitHubPull], right=READ)
            pulls = [pull async for page in pages for pull in page]
        except ForgeConflict:  # 422: no commit found for this SHA
            return []
        # the list lacks the user who merged
        return [await self.get(pull.number) for pull in pulls if pull.merged_at]

    async def open(self, wish: NewPullRequest) -> PullRequest:
        """Open a pull request."""
        body = {
            "title": wish.title, "body": wish.body, "head": wish.branch, "base": wish.target,
            "draft": wish.is_draft,
        }  # fmt: skip
        response = await self.api.send("POST", f"{self.root}/pulls", body, right=WRITE)
        return decode(response, GitHubPull).value()

    async def merge(self, number: int, head: str) -> str:
        """Merge a pull request by the first method that the repository allows.

        If the branch has a merge queue, the pull request enters it, and the commit is empty.
        """
        methods = await self.api.get(self.root, _MergeMethods)
        body = {"sha": head, "merge_method": methods.preferred()}
        path = f"{self.root}/pulls/{number}"
        try:
            response = await self.api.send("PUT", f"{path}/merge", body, right=MERGE)
        except ForgeConflict as refusal:
            if not needs_queue(refusal):
                raise
        else:
            return decode(response, _MergeResult).sha
        pull = await self.api.get(path, GitHubPull, right=READ)
        address, page = find_graphql(self.url), pull.value().url
        await enter_queue(self.api, address, pull.node_id, head, page)
        return ""

    async def close(self, number: int) -> None:
        """Close a pull request without a merge."""
        body: dict[str, Any] = {"state": "closed"}
        await self.api.send("PATCH", f"{self.root}/pulls/{number}", body, right=WRITE)


# ---- The merge queue of a branch on GitHub, which its GraphQL API alone can enter

RIGHT: Final = "merge_queues: write"
_REFUSAL: Final = "through the merge queue"
"""The words of GitHub's refusal to merge past a queue."""

_ENTER: Final = (
    "mutation($input: EnqueuePullRequestInput!)"
    " { enqueuePullRequest(input: $input) { mergeQueueEntry { position } } }"
)


class _Mistake(msgspec.Struct):
    message: str = ""
    type: str = ""


class _Answer(msgspec.Struct):
    errors: list[_Mistake] = []


def needs_queue(refusal: ForgeConflict) -> bool:
    """Return whether a merge was refused because the branch has a merge queue."""
    return _REFUSAL in refusal.message


async def enter_queue(api: ForgeApi, url: str, node: str, head: str, page: str) -> None:
    """Add a pull request to the merge queue of its branch; do nothing if it is in the queue.

    Args:
        api: its credential is used.
        url: the address of the GraphQL API, on the same server.
        node: the id of the pull request for GraphQL.
        head: the reviewed commit.
        page: the page where a person can do it.

    Raises:
        ForgeForbidden: the credential lacks the right for it.
        ForgeConflict: the head is another one by now, or the rules of the branch block it.
    """
    body = {
        "query": _ENTER,
        "variables": {"input": {"pullRequestId": node, "expectedHeadOid": head}},
    }
    answer = await api.send_to(url, body, _Answer, right=RIGHT)
    if not answer.errors:
        return
    message = one_line("; ".join(mistake.message for mistake in answer.errors))[:300]
    if "already in the" in message:
        return
    if any(mistake.type == "FORBIDDEN" for mistake in answer.errors):
        hint = f"the credential needs the right '{RIGHT}'; or a person adds it to the queue: {page}"
        raise ForgeForbidden(f"the merge queue cannot be entered: {message}", hint=hint)
    raise ForgeConflict(
        f"the merge queue does not take it: {message}", hint=f"its page shows why: {page}"
    )
