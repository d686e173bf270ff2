"""Conversations of agents by chance, and the bodies of requests for them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

from bbops.runtime.agents.conversation import (
    CallResult,
    Message,
    ModelDialect,
    ModelMessage,
    ModelSettings,
    ToolCall,
    ToolSpec,
    UserMessage,
)
from bbops.runtime.vendors.chat_model import _asked
from tests.support.models.rules import chat_mistakes, message_mistakes

SETTINGS = ModelSettings("small", 500, {})
TOOLS = (
    ToolSpec("order_get", "Return an order.", {"type": "object", "properties": {"id": {}}}),
    ToolSpec("refund-order", "", {"type": "object", "properties": {}}),
)

_TEXTS = st.sampled_from(["", " \n", "hello", "  a refund, please ", "ä\u2028\x00"])
_NAMES = st.sampled_from(["order_get", "functions.order get", "", "x" * 200])
_IDS = st.sampled_from(["call_1", "toolu_1", "a b", "", "same", "ä", "x" * 60])
_ARGUMENTS = st.none() | st.dictionaries(st.sampled_from(["id", "note"]), st.integers())


@st.composite
def _answers(draw: st.DrawFn) -> ModelMessage:
    ids = draw(st.lists(_IDS, max_size=3, unique=True))
    calls = [ToolCall(name, draw(_NAMES), draw(_ARGUMENTS), "{") for name in ids]
    return ModelMessage(draw(_TEXTS), tuple(calls))


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Return messages as memory and ended runs leave them: results may be missing or alone."""
    messages: list[Message] = [UserMessage("hello")] if draw(st.booleans()) else []
    calls: list[ToolCall] = [ToolCall("lost", "order_get", {})]
    for _ in range(draw(st.integers(0, 6))):
        answer = draw(st.none() | _answers())
        if answer is not None:
            messages.append(answer)
            calls += answer.calls
        answered = draw(st.lists(st.sampled_from(calls), max_size=3))
        messages += [CallResult(call, draw(_TEXTS), draw(st.booleans())) for call in answered]
        if draw(st.booleans()):
            messages.append(UserMessage(draw(_TEXTS)))
    return [*messages, UserMessage(draw(_TEXTS))]


def body_of(
    dialect: ModelDialect, messages: Sequence[Message], *, tools: Sequence[ToolSpec] = TOOLS,
    model: ModelSettings = SETTINGS, instructions: str = "Be kind.",
) -> dict[str, Any]:  # fmt: skip
    """Return the body that the addon's step sends."""
    given = dialect.write(model, instructions, messages, tools)
    if dialect.step == "chatModel.createMessage":
        work: Any = SimpleNamespace(setting=lambda _: "", address=lambda usual: usual)
        _, _, body = _asked(work, given, {})
    else:
        body = {"model": given["model"], "messages": given["messages"], **given["options"]}
    plain: dict[str, Any] = json.loads(json.dumps(body))
    return plain


def mistakes_in(dialect: ModelDialect, body: Mapping[str, Any]) -> list[str]:
    """Return the rules of the vendor that a body breaks."""
    is_chat = dialect.step == "aiModel.chatCompletion"
    return [*(chat_mistakes(body) if is_chat else message_mistakes(body))]
