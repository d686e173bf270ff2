"""aiModel, held against OpenAI's library."""

from __future__ import annotations

from typing import Any

from tests.vendors.scenario import CANARY, Scenario, Vendor
from tests.vendors.stand_in import Answer

COMPLETION = {
    "id": "c1", "model": "m", "created": 1, "usage": {"total_tokens": 3},
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}}],
}  # fmt: skip
EMBEDDED = {"model": "m", "data": [{"index": 0, "embedding": [0.5]}], "usage": {}}
PICTURE = {"created": 1, "data": [{"b64_json": "aGVsbG8="}]}
MESSAGES: Any = [{"role": "user", "content": "ü"}]


def client(url: str) -> Any:
    import openai  # noqa: PLC0415 - of the extra 'vendors'

    return openai.OpenAI(api_key=CANARY, base_url=f"{url}/v1", max_retries=0)


VENDOR = Vendor(
    "aiModel",
    "apiKey: ${ env.MODEL_KEY }\nendpoint: URL/v1",
    {"MODEL_KEY": CANARY},
    (
        Scenario(
            "aiModel.chatCompletion:"
            " { model: m, messages: [{ role: user, content: ü }], options: { temperature: 0.5 } }",
            lambda url: client(url).chat.completions.create(
                model="m", messages=MESSAGES, temperature=0.5
            ),
            Answer(body=COMPLETION), COMPLETION,
        ),
        Scenario(
            "aiModel.createEmbedding: { model: m, input: [a, b] }",
            lambda url: client(url).embeddings.create(
                model="m", input=["a", "b"], encoding_format="float"
            ),
            Answer(body=EMBEDDED), EMBEDDED,
        ),
        Scenario(
            "aiModel.generateImage: { model: m, prompt: p, size: 1024x1024 }",
            lambda url: client(url).images.generate(model="m", prompt="p", size="1024x1024"),
            Answer(body=PICTURE), PICTURE,
        ),
    ),
    headers=("authorization",),
    refusal={"error": {"code": "context_length_exceeded", "type": "x", "message": "Too long."}},
    words="Too long.",
    reason="context_length_exceeded",
)  # fmt: skip
