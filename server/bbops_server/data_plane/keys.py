"""API keys of a project, for the parent: its live release has the database open."""

from __future__ import annotations

from typing import Any

from bbops.base.errors import ServerError
from bbops.runtime.auth.issued_keys import (
    check_channels,
    issue_key,
    list_keys,
    revoke_key,
    rotate_key,
)
from bbops.runtime.linking.release import Release
from bbops.runtime.values.durations import seconds
from bbops.runtime.values.failures import Failure
from bbops_server.data_plane.live.swap import Live
from bbops_server.process.messages import Frame


async def answer_about_keys(live: Live, request: Frame) -> Frame:
    """Do what a request about API keys says; `verb` is list, issue, rotate or revoke.

    Raises:
        ServerError: nothing is live, there is no such key or channel, or a value does not fit.
    """
    if live.release is None:
        raise ServerError("nothing of the project is live", hint="'bbops status' says why")
    await live.note_uses()
    try:
        found = await _answer(live.release, request)
    except Failure as failure:
        raise ServerError(failure.message) from None
    if request["verb"] != "list":
        live.release.answering.api_keys.forget()
    return found


async def _answer(release: Release, request: Frame) -> dict[str, Any]:
    host = release.answering.host
    match request["verb"]:
        case "list":
            return {"keys": await list_keys(host)}
        case "issue":
            channels, lasts = request["channels"] or None, request["expires_in"]
            check_channels(channels or (), release.key_channels)
            found = None if lasts is None else seconds(lasts)
            return await issue_key(host, request["name"], channels, request["claims"], found)
        case "rotate":
            return await rotate_key(host, request["key"], seconds(request["overlap"]))
        case _:
            return {"id": await revoke_key(host, request["key"])}
