"""chatModel, in the shapes of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bbops.base.host import HttpResponse
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._parts import bearer, pick, text_at, with_options
from bbops.runtime.vendors._work import Work

_ADDRESS: Final = "https://api.anthropic.com"
_VERSION: Final = "2026-10-21"
_WITH_TEMPERATURE: Final = "2023-06-01"
"""The newer version refuses a temperature, whatever it is."""

_TOKENS: Final = 1_024


async def create_message(work: Work, given: Mapping[str, Any]) -> Any:
    """Give the model a conversation, and get its next message."""
    ours = {"max_tokens": given.get("maxTokens", _TOKENS)}
    ours |= pick(given, "model", "messages", "system", "temperature")
    body = with_options(ours, given.get("options"))
    version = _WITH_TEMPERATURE if "temperature" in body else _VERSION
    headers = bearer(work.setting("apiKey")) | {"anthropic-version": version}
    url = f"{work.address(_ADDRESS)}/v1/messages"
    return await work.ask("POST", url, headers, body, refusal=_refusal)


def _refusal(_: HttpResponse, found: Any) -> Refusal:
    return Refusal(text_at(found, "error", "message"), text_at(found, "error", "type"))


STEPS: Final = {"createMessage": create_message}
