"""What a proposal's draft answers otherwise than the live API: asked for, kept, and told."""

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
from bbops_server.control_plane.proposals.review import Reviewing
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.data_plane.drafts.keys import make_token
from bbops_server.publish.projects.waking import serves, wake
from bbops_server.publish.proposals.replaying import MOST_SECONDS, rehearse

_TOKEN_SECONDS: Final = 4 * MOST_SECONDS


@change("/api/projects/{name:str}/proposals/{number:int}/replay", Permission.REPLAY, status=200)
async def replay_proposal(visit: Here, name: FromPath[str], number: FromPath[int]) -> ReplayResult:
    """Ask the proposal's draft what was asked of the live API, and keep which answers change."""
    return await ask_again(visit, name, number)


async def ask_again(visit: Visit, name: str, number: int) -> ReplayResult:
    """Ask the draft of an open proposal again; one at a time, for each is work for the server.

    Raises:
        ClientException: it is not open, its draft does not work, or another one is being asked.
    """
    found, _ = await Reviewing(visit, name).look(number)
    drafts, history = visit.control.status.drafts(name), visit.control.status.history(name)
    if drafts is None or history is None:
        raise NotFoundException(f"there is no project '{name}'")
    if found.state != "open":
        raise _conflict(f"proposal #{number} is {found.state}")
    if visit.control.replaying.locked():
        raise _conflict("another proposal is being replayed; try again in a moment")
    async with visit.control.replaying:
        branch = Reviewing(visit, name).control.preview_branch(number)
        try:
            draft = await wake(drafts, branch, found.head)
        except BbopsError as error:
            raise refuse(error) from None
        now = datetime.now(UTC).timestamp()  # noqa: TID251 - the server's own clock
        url, host = drafts.here(draft.slug)
        token = make_token(drafts.key(draft.slug), now + _TOKEN_SECONDS)
        try:
            done = await asyncio.to_thread(
                rehearse, history, url, {"host": host, "x-draft-token": token},
                head=found.head, at=now,
            )  # fmt: skip
        except BbopsError as error:
            raise refuse(error) from None
        if not serves(drafts.find(branch), found.head):
            raise _conflict(f"proposal #{number} has changed in the meantime")
    text = msgspec.json.encode(done).decode()
    await visit.control.ask(visit.book.proposals.keep_replay, name, number, found.head, text)
    await visit.note("replay proposal", object=f"{name} #{number}")
    return done


async def read_kept(visit: Visit, name: str, proposal: Proposal) -> ReplayResult | None:
    """Return what was found of the proposal as it is; None for who may not read requests."""
    if not visit.may(Permission.READ_REQUESTS, name):
        return None
    kept = await visit.control.ask(
        visit.book.proposals.replay, name, proposal.number, proposal.head
    )  # fmt: skip
    return None if kept is None else msgspec.json.decode(kept, type=ReplayResult)


def _conflict(message: str) -> ClientException:
    return ClientException(message, status_code=409)


ROUTES = (replay_proposal,)
