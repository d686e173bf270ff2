"""The dialects of the addons whose models agents can use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bbops.runtime.agents.anthropic_messages import AnthropicMessages
from bbops.runtime.agents.chat_completions import ChatCompletions
from bbops.runtime.agents.conversation import ModelDialect

DIALECTS: Final[Mapping[str, ModelDialect]] = {
    "aiModel": ChatCompletions(),
    "chatModel": AnthropicMessages(),
}


def dialect_of(addon: str) -> ModelDialect:
    """Return the dialect of an addon.

    Raises:
        KeyError: agents cannot use the addon; the check of the file reports it.
    """
    return DIALECTS[addon]
