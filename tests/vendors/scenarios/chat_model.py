"""chatModel, held against Anthropic's library."""

from __future__ import annotations

from typing import Any

from tests.vendors.scenario import CANARY, Scenario, Vendor
from tests.vendors.stand_in import Answer

MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
    "content": [{"type": "thinking", "thinking": "…"}, {"type": "text", "text": "hello"}],
    "usage": {"input_tokens": 1, "output_tokens": 2},
}  # fmt: skip
ASKED = {"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": "ü"}]}


def create(url: str, **more: Any) -> object:
    import anthropic  # noqa: PLC0415 - of the extra 'vendors'

    with anthropic.Anthropic(auth_token=CANARY, base_url=url, max_retries=0) as client:
        return client.messages.create(**ASKED, **more)


def step(more: str) -> str:
    return (
        "chatModel.createMessage:"
        f" {{ model: m, maxTokens: 64, messages: [{{ role: user, content: ü }}], {more} }}"
    )


VENDOR = Vendor(
    "chatModel",
    "apiKey: ${ env.MODEL_KEY }\nendpoint: URL",
    {"MODEL_KEY": CANARY},
    (
        Scenario(
            step("system: s"), lambda url: create(url, system="s"), Answer(body=MESSAGE), MESSAGE,
        ),
        Scenario(
            step("temperature: 0.5, options: { top_k: 5 }"),
            lambda url: create(url, extra_body={"temperature": 0.5, "top_k": 5}),
            Answer(body=MESSAGE), MESSAGE,
            {"anthropic-version": "the version of the library rejects 'temperature'"},
        ),
    ),
    headers=("authorization", "anthropic-version"),
    refusal={"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    words="Overloaded",
    reason="overloaded_error",
)  # fmt: skip
