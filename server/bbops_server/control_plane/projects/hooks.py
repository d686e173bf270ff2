"""Messages to the server's own webhook receivers: list, test and resend."""

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
from bbops_server.process.webhooks.outbox import WebhookOutbox


class SentMessage(msgspec.Struct, frozen=True):
    """A message and its last attempt.

    `receiver` is shown without its secret parts, and `project` is empty for a ping. `outcome` is
    waiting, taken or dropped. `status` is the receiver's status code, null without a response, and
    `error` the reason for a failure.
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


class ReceiverTest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the URL of the receivers to test, as it is shown; empty for all receivers."""

    receiver: Annotated[str, msgspec.Meta(max_length=500)] = ""


@read("/api/hooks", Permission.MANAGE_HOOKS)
async def list_messages(
    visit: Here, limit: Annotated[int, QueryParameter(ge=1, le=1_000)] = 50
) -> list[SentMessage]:
    """The last messages to each receiver of webhooks, newest first, without their payloads."""
    return msgspec.convert(_hooks(visit).messages(limit), list[SentMessage])


@change("/api/hooks/test", Permission.MANAGE_HOOKS, status=200)
async def test_receivers(visit: Here, data: Annotated[ReceiverTest, Body()]) -> list[SentMessage]:
    """Send a signed `ping` to receivers, once, and return their responses."""
    try:
        messages = await _hooks(visit).test(data.receiver)
    except BbopsError as error:
        raise refuse(error) from None
    receivers = ", ".join(message["receiver"] for message in messages)
    await visit.note("test webhooks", object=receivers)
    return msgspec.convert(messages, list[SentMessage])


@change("/api/hooks/{message:str}/resend", Permission.MANAGE_HOOKS, status=200)
async def resend_message(visit: Here, message: FromPath[str]) -> SentMessage:
    """Send a message again with the same id; the id may be shortened to a unique prefix."""
    try:
        resent = await _hooks(visit).resend(message)
    except BbopsError as error:
        raise refuse(error) from None
    await visit.note("resend webhook", object=f"{resent['receiver']} {resent['id']}")
    return msgspec.convert(resent, SentMessage)


def _hooks(visit: Visit) -> WebhookOutbox:
    hooks = visit.control.status.hooks()
    if hooks is None:
        raise refuse(ServerError("the server is starting"))
    return hooks


ROUTES = (list_messages, test_receivers, resend_message)
