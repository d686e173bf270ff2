"""Webhooks out: what was sent to whom and what came of it, tests, and another try."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from litestar.params import Body, FromPath, QueryParameter

from bbops.base.errors import BbopsError, ServerError
from bbops_server.accounts.rules import Permission
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.routes import change, read
from bbops_server.control_plane.web.visit import Here, Visit
from bbops_server.publish.projects.protocols import HookSource


class SentMessage(msgspec.Struct, frozen=True):
    """A message and its last try.

    `receiver` is shown without what may be secret in it, and `project` is empty of a ping;
    `outcome` is waiting, taken or dropped. `status` is what the receiver answered, null where it
    did not, and `error` why it did not take it.
    """

    id: str
    receiver: str
    event: str
    project: str
    at: datetime
    tries: int
    outcome: str
    tried_at: datetime | None
    status: int | None
    error: str


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the shown address of the receivers to test; empty for all."""

    receiver: Annotated[str, msgspec.Meta(max_length=500)] = ""


@read("/api/hooks", Permission.MANAGE_HOOKS)
async def list_messages(
    visit: Here, limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 50
) -> list[SentMessage]:
    """The last messages to each receiver of webhooks, newest first; not what they say."""
    return msgspec.convert(_hooks(visit).messages(limit), list[SentMessage])


@change("/api/hooks/test", Permission.MANAGE_HOOKS, status=200)
async def test_receivers(visit: Here, data: Annotated[Wanted, Body()]) -> list[SentMessage]:
    """Send a signed `ping` to receivers, once; answers with what came back."""
    try:
        found = await _hooks(visit).test(data.receiver)
    except BbopsError as error:
        raise refuse(error) from None
    await visit.note("test webhooks", object=", ".join(one["receiver"] for one in found))
    return msgspec.convert(found, list[SentMessage])


@change("/api/hooks/{message:str}/resend", Permission.MANAGE_HOOKS, status=200)
async def resend_message(visit: Here, message: FromPath[str]) -> SentMessage:
    """Send a message once more with its id, named by that or by how it begins."""
    try:
        found = await _hooks(visit).resend(message)
    except BbopsError as error:
        raise refuse(error) from None
    await visit.note("resend webhook", object=f"{found['receiver']} {found['id']}")
    return msgspec.convert(found, SentMessage)


def _hooks(visit: Visit) -> HookSource:
    found = visit.control.status.hooks()
    if found is None:
        raise refuse(ServerError("the server is starting"))
    return found


ROUTES = (list_messages, test_receivers, resend_message)
