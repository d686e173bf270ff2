"""Answers of models as vendors send them piece by piece, and what their libraries make of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.vendors.scenario import CANARY
from tests.vendors.stand_in import Answer

MESSAGES: Any = [{"role": "user", "content": "ü"}]
KIND = {"content-type": "text/event-stream; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class Streamed:
    """One answer in a vendor's own form.

    Attributes:
        step: as YAML.
        sent: what the vendor sends.
        texts: the pieces of it.
        library: returns (pieces, whole) as the vendor's library reads the same from an address.
        broken: an event by which the vendor says that it cannot go on, and its words.
        ends: how much at the end of `sent` says that it is whole.
    """

    addon: str
    step: str
    sent: str
    texts: Sequence[str]
    library: Callable[[str], tuple[list[str], Any]]
    broken: str
    words: str
    ends: int

    @property
    def answer(self) -> Answer:
        """The vendor's answer."""
        return Answer(body=self.sent, headers=KIND)


def events(*datas: dict[str, Any]) -> str:
    """Return events as Anthropic sends them."""
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in datas)


def chunks(*datas: dict[str, Any]) -> str:
    """Return events as OpenAI sends them."""
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return "".join(f"data: {json.dumps({**head, **one})}\n\n" for one in datas)


def choice(delta: dict[str, Any], ends: str | None = None, index: int = 0) -> dict[str, Any]:
    """Return a chunk of one choice."""
    return {"choices": [{"index": index, "delta": delta, "finish_reason": ends}]}


MESSAGE = events(
    {"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m",
        "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0,
     "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 0,
     "delta": {"type": "thinking_delta", "thinking": "Let me "}},
    {"type": "content_block_delta", "index": 0,
     "delta": {"type": "thinking_delta", "thinking": "see"}},
    {"type": "content_block_delta", "index": 0,
     "delta": {"type": "signature_delta", "signature": "sig=="}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hé"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "llo\n"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "🌍"}},
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2,
     "content_block": {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {}}},
    {"type": "content_block_delta", "index": 2,
     "delta": {"type": "input_json_delta", "partial_json": ""}},
    {"type": "content_block_delta", "index": 2,
     "delta": {"type": "input_json_delta", "partial_json": '{"city": "Pa'}},
    {"type": "content_block_delta", "index": 2,
     "delta": {"type": "input_json_delta", "partial_json": 'ris"}'}},
    {"type": "content_block_stop", "index": 2},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None},
     "usage": {"output_tokens": 15}},
    {"type": "message_stop"},
)  # fmt: skip

COMPLETION = (
    chunks(
        choice({"role": "assistant", "content": "", "refusal": None}),
        choice({"content": "Hé"}), choice({"content": "llo\n"}), choice({"content": "🌍"}),
        choice({"tool_calls": [
            {"index": 0, "id": "call_1", "type": "function",
             "function": {"name": "find", "arguments": ""}}]}),
        choice({"tool_calls": [{"index": 0, "function": {"arguments": '{"city": "Pa'}}]}),
        choice({"tool_calls": [{"index": 0, "function": {"arguments": 'ris"}'}}]}),
        choice({}, "tool_calls"),
        {"choices": [], "usage": {
            "prompt_tokens": 7, "completion_tokens": 15, "total_tokens": 22}},
    )
    + "data: [DONE]\n\n"
)  # fmt: skip


def _anthropic(url: str) -> tuple[list[str], Any]:
    import anthropic  # noqa: PLC0415 - of the extra 'vendors'

    with (
        anthropic.Anthropic(auth_token=CANARY, base_url=url, max_retries=0) as client,
        client.messages.stream(model="m", max_tokens=64, messages=MESSAGES) as stream,
    ):
        texts = list(stream.text_stream)
        return texts, stream.get_final_message().to_dict()


def _openai(url: str) -> tuple[list[str], Any]:
    import openai  # noqa: PLC0415 - of the extra 'vendors'

    with (
        openai.OpenAI(api_key=CANARY, base_url=f"{url}/v1", max_retries=0) as client,
        client.chat.completions.stream(
            model="m", messages=MESSAGES, stream_options={"include_usage": True}
        ) as stream,
    ):
        texts = [one.delta for one in stream if one.type == "content.delta"]
        return texts, stream.get_final_completion().to_dict()


CHAT_MODEL = Streamed(
    "chatModel",
    "chatModel.createMessage:"
    " { model: m, maxTokens: 64, messages: [{ role: user, content: ü }] }",
    MESSAGE, ["Hé", "llo\n", "🌍"], _anthropic,
    events({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    "Overloaded", len(events({"type": "message_stop"})),
)  # fmt: skip
AI_MODEL = Streamed(
    "aiModel",
    "aiModel.chatCompletion: { model: m, messages: [{ role: user, content: ü }] }",
    COMPLETION, ["Hé", "llo\n", "🌍"], _openai,
    'data: {"error": {"code": "server_error", "message": "The server had an error"}}\n\n',
    "The server had an error",
    len(chunks(choice({}, "tool_calls"), {"choices": [], "usage": {
        "prompt_tokens": 7, "completion_tokens": 15, "total_tokens": 22}})) + 14,
)  # fmt: skip
EVERY = (CHAT_MODEL, AI_MODEL)


def streaming(step: str, beside: str = "") -> str:
    """Return a function that answers with the pieces of a step."""
    more = f"\n        {beside}" if beside else ""
    return f"steps:\n  - return:\n      stream:\n        {step}{more}\n"
