"""API keys of a project, for the parent: its live release has the database open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from bbops.base.errors import ServerError
from bbops.runtime.auth.api_keys import check_channels, issue_key, list_keys, revoke_key, rotate_key
from bbops.runtime.linking.release import Release
from bbops.runtime.values.failures import Failure
from bbops.runtime.values.units import seconds
from bbops_server.data_plane.live.swap import Live
from bbops_server.process.messages.api_keys import (
    IssueKey,
    KeyAnswer,
    ListKeys,
    ListKeysAnswer,
    RevokeKey,
    RevokeKeyAnswer,
    RotateKey,
)
from bbops_server.process.messages.request import AnswerMessage
from bbops_server.process.messages.service import Handlers, RequestHandler

KeyRequest: TypeAlias = ListKeys | IssueKey | RotateKey | RevokeKey


def key_handlers(find: Callable[[KeyRequest], Live]) -> Handlers:
    """Return what answers requests about API keys; `find` returns what is live of their project.

    Each raises ServerError: nothing is live, there is no such key or channel, or a value does not
    fit.
    """

    def about(answer: Callable[[Release, Any], Awaitable[AnswerMessage]]) -> RequestHandler:
        async def handle(request: KeyRequest) -> AnswerMessage:
            return await _answer(find(request), request, answer)

        return handle

    return {
        ListKeys: about(_list), IssueKey: about(_issue), RotateKey: about(_rotate),
        RevokeKey: about(_revoke),
    }  # fmt: skip


async def _answer(
    live: Live, request: KeyRequest, answer: Callable[[Release, Any], Awaitable[AnswerMessage]]
) -> AnswerMessage:
    if live.release is None:
        raise ServerError("the project has no live release", hint="'bbops status' says why")
    await live.note_uses()
    try:
        found = await answer(live.release, request)
    except Failure as failure:
        raise ServerError(failure.message) from None
    if not isinstance(request, ListKeys):
        live.release.answering.api_keys.forget()
    return found


async def _list(release: Release, request: ListKeys) -> ListKeysAnswer:
    del request
    return ListKeysAnswer(await list_keys(release.answering.host))


async def _issue(release: Release, request: IssueKey) -> KeyAnswer:
    channels, lasts = request.channels or None, request.expires_in
    check_channels(channels or (), release.key_channels)
    found = None if lasts is None else seconds(lasts)
    host = release.answering.host
    return KeyAnswer(**await issue_key(host, request.name, channels, request.claims, found))


async def _rotate(release: Release, request: RotateKey) -> KeyAnswer:
    host = release.answering.host
    return KeyAnswer(**await rotate_key(host, request.key, seconds(request.overlap)))


async def _revoke(release: Release, request: RevokeKey) -> RevokeKeyAnswer:
    return RevokeKeyAnswer(await revoke_key(release.answering.host, request.key))
