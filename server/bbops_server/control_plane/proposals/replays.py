"""Replays of live requests on a proposal's draft: run, store and read them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Final

import msgspec
from litestar.exceptions import ClientException, NotFoundException
from litestar.params import FromPath

from bbops.base.errors import BbopsError
from bbops.interfaces.answers import ReplayResult
from bbops.source.git.proposals import Proposal
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.proposals.review import VisitedProposals
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.data_plane.drafts.keys import make_token
from bbops_server.publish.projects.projects import serves_commit, wait_until_ready
from bbops_server.publish.proposals.replay import MAX_SECONDS, replay_sample

_TOKEN_SECONDS: Final = 4 * MAX_SECONDS


@change("/api/projects/{name:str}/proposals/{number:int}/replay", Permission.REPLAY, status=200)
async def replay_proposal(visit: Here, name: FromPath[str], number: FromPath[int]) -> ReplayResult:
    """Replay requests of the live API on the proposal's draft, and store the changed responses."""
    return await replay(visit, name, number)


async def replay(visit: Visit, name: str, number: int) -> ReplayResult:
    """Replay requests on the draft of an open proposal, for one proposal at a time.

    Raises:
        ClientException: it is not open, its draft is not ready, or another replay is running.
    """
    proposal, _ = await VisitedProposals(visit, name).find(number)
    drafts, history = visit.control.status.drafts(name), visit.control.status.history(name)
    if drafts is None or history is None:
        raise NotFoundException(f"there is no project '{name}'")
    if proposal.state != "open":
        raise _conflict(f"proposal #{number} is {proposal.state}")
    if visit.control.replay_lock.locked():
        raise _conflict("another proposal is being replayed; try again in a moment")
    async with visit.control.replay_lock:
        branch = VisitedProposals(visit, name).control.preview_branch(number)
        try:
            draft = await wait_until_ready(drafts, branch, proposal.head)
        except BbopsError as error:
            raise refuse(error) from None
        now = datetime.now(UTC).timestamp()  # noqa: TID251 - the server's own clock
        url, host = drafts.here(draft.slug)
        token = make_token(drafts.key(draft.slug), now + _TOKEN_SECONDS)
        try:
            replayed = await asyncio.to_thread(
                replay_sample, history, url, {"host": host, "x-draft-token": token},
                head=proposal.head, at=now,
            )  # fmt: skip
        except BbopsError as error:
            raise refuse(error) from None
        if not serves_commit(drafts.find(branch), proposal.head):
            raise _conflict(f"proposal #{number} has changed in the meantime")
    text = msgspec.json.encode(replayed).decode()
    await visit.control.run(visit.book.proposals.keep_replay, name, number, proposal.head, text)
    await visit.note("replay proposal", object=f"{name} #{number}")
    return replayed


async def find_replay(visit: Visit, name: str, proposal: Proposal) -> ReplayResult | None:
    """Return the stored replay of a proposal's commit; None without permission to read requests."""
    if not visit.may(Permission.READ_REQUESTS, name):
        return None
    text = await visit.control.run(
        visit.book.proposals.replay, name, proposal.number, proposal.head
    )  # fmt: skip
    return None if text is None else msgspec.json.decode(text, type=ReplayResult)


def _conflict(message: str) -> ClientException:
    return ClientException(message, status_code=409)


ROUTES = (replay_proposal,)
