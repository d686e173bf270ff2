"""teamChat, in the shapes of Slack's Web API. It answers errors with 200 and `ok: false`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bbops.base.host import HttpResponse
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._parts import bearer, pick, text_at
from bbops.runtime.vendors._work import AddonFailure, Work, read_answer, write_json

_ADDRESS: Final = "https://slack.com"
_STATUSES: Final = {
    401: "invalid_auth not_authed token_revoked token_expired account_inactive",
    403: "missing_scope not_in_channel is_archived restricted_action access_denied",
    404: "channel_not_found user_not_found",
    429: "ratelimited rate_limited",
    500: "internal_error fatal_error",
    503: "service_unavailable",
}
_STATUS_OF: Final = {name: code for code, names in _STATUSES.items() for name in names.split()}


async def send_message(work: Work, given: Mapping[str, Any]) -> Any:
    """Write into a channel."""
    return await _post(work, "chat.postMessage", pick(given, "channel", "text", "blocks"))


async def send_direct_message(work: Work, given: Mapping[str, Any]) -> Any:
    """Write to one member, in the conversation with them."""
    opened = await _post(work, "conversations.open", {"users": given["userId"]})
    channel = text_at(opened, "channel", "id")
    if channel is None:
        raise AddonFailure("addon-answer", "the vendor opened a conversation without an id")
    return await _post(work, "chat.postMessage", {"channel": channel, "text": given["text"]})


async def _post(work: Work, method: str, body: Mapping[str, Any]) -> Any:
    url = f"{work.address(_ADDRESS)}/api/{method}"
    kind = {"content-type": "application/json;charset=utf-8"}  # else it warns in each answer
    headers = bearer(work.setting("botToken")) | kind
    answer = await work.accept("POST", url, headers, write_json(body), refusal=_refusal)
    found = read_answer(url, answer)
    if isinstance(found, dict) and found.get("ok") is False:
        raise work.failure(url, answer, _refusal(answer, found))
    return found


def _refusal(answer: HttpResponse, found: Any) -> Refusal:
    reason = text_at(found, "error")
    status = _STATUS_OF.get(reason or "", 400) if answer.status == 200 else None
    return Refusal(reason, reason, status=status)


async def probe(work: Work) -> str:
    """Return whose token it is."""
    found = await _post(work, "auth.test", {})
    names = filter(None, (text_at(found, "user"), text_at(found, "team")))
    return " of ".join(names)


STEPS: Final = {"sendMessage": send_message, "sendDirectMessage": send_direct_message}
PROBE: Final = probe
