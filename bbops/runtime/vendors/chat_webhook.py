"""chatWebhook, in the shapes of Discord's webhooks, whose address is a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from bbops.base.host import HttpResponse
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.outside import LONGEST_SECONDS, Refusal
from bbops.runtime.vendors._parts import pick, text_at
from bbops.runtime.vendors._work import Work

_ADDRESS: Final = "https://discord.com/api/v10"
_MOST_CHARACTERS, _MOST_EMBEDS = 2_000, 10
_WEBHOOK: Final = re.compile(
    r"https://(?:(?:canary|ptb)\.)?discord(?:app)?\.com/api(?:/v\d{1,3})?"
    r"/webhooks/(\d{15,22})/([\w-]{20,120})"
).fullmatch


async def send_message(work: Work, given: Mapping[str, Any]) -> Any:
    """Write a message; text from outside mentions nobody unless that is allowed."""
    found = _WEBHOOK(given.get("webhookUrl") or work.setting("webhookUrl"))
    if found is None:
        raise FlowError("'webhookUrl' must be the address of a webhook of discord.com")
    if len(given.get("content", "")) > _MOST_CHARACTERS:
        raise FlowError(f"'content' must have at most {_MOST_CHARACTERS:,} characters")
    if len(given.get("embeds", ())) > _MOST_EMBEDS:
        raise FlowError(f"'embeds' must have at most {_MOST_EMBEDS} embeds")
    url = f"{work.address(_ADDRESS)}/webhooks/{found[1]}/{found[2]}?wait=true"
    body = pick(given, "content", "username", "embeds")
    if not given.get("mentions"):
        body["allowed_mentions"] = {"parse": []}
    return await work.ask("POST", url, {}, body, refusal=_refusal)


def _refusal(_: HttpResponse, found: Any) -> Refusal:
    told = found if isinstance(found, dict) else {}
    code, pause = told.get("code"), told.get("retry_after")
    return Refusal(
        text_at(found, "message"), str(code) if isinstance(code, int) else None,
        min(pause, LONGEST_SECONDS) if isinstance(pause, int | float) else None,
    )  # fmt: skip


async def probe(work: Work) -> str:
    """Return what the webhook is called."""
    found = _WEBHOOK(work.setting("webhookUrl"))
    if found is None:
        raise FlowError("'webhookUrl' must be the address of a webhook of discord.com")
    url = f"{work.address(_ADDRESS)}/webhooks/{found[1]}/{found[2]}"
    return text_at(await work.ask("GET", url, {}, refusal=_refusal), "name") or ""


STEPS: Final = {"sendMessage": send_message}
PROBE: Final = probe
