"""The merge queue of a branch on GitHub, which its GraphQL API alone can enter."""

from __future__ import annotations

from typing import Final

import msgspec

from bbops.base.render import one_line
from bbops_server.forges.api import ForgeApi
from bbops_server.forges.hosted import ForgeConflict, ForgeForbidden

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
