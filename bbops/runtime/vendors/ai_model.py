"""aiModel, in the shapes of OpenAI's API, which many servers of models speak."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any, Final

from bbops.base.host import HttpResponse
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._parts import bearer, pick, text_at, with_options
from bbops.runtime.vendors._work import AddonFailure, Work

_ADDRESS: Final = "https://api.openai.com/v1"
_SPENT: Final = "insufficient_quota"


async def chat_completion(work: Work, given: Mapping[str, Any]) -> Any:
    """Give the model a conversation."""
    return await _post(work, "chat/completions", given, pick(given, "model", "messages"))


async def create_embedding(work: Work, given: Mapping[str, Any]) -> Any:
    """Turn text into numbers."""
    body = pick(given, "model", "input") | {"encoding_format": "float"}
    return await _post(work, "embeddings", given, body)


async def generate_image(work: Work, given: Mapping[str, Any]) -> Any:
    """Draw a picture; with `outputPath` it becomes a file of the run."""
    body = pick(given, "model", "prompt", "size")
    found = await _post(work, "images/generations", given, body)
    path = given.get("outputPath")
    if path is None:
        return found
    picture = text_at(found, "data", 0, "b64_json")
    try:
        data = b64decode(picture or "", validate=True)
    except ValueError:
        data = b""
    if not data:
        raise AddonFailure("addon-answer", "the vendor returned no picture in 'b64_json'")
    await work.write(path, data)
    return {"created": found.get("created", 0), "data": None, "path": path, "size": len(data)}


async def _post(
    work: Work, path: str, given: Mapping[str, Any], body: Mapping[str, Any]
) -> Any:  # fmt: skip
    url = f"{work.address(_ADDRESS)}/{path}"
    headers = bearer(work.setting("apiKey"))
    sent = with_options(body, given.get("options"))
    return await work.ask("POST", url, headers, sent, refusal=_refusal)


def _refusal(_: HttpResponse, found: Any) -> Refusal:
    reason = text_at(found, "error", "code") or text_at(found, "error", "type")
    spent = False if reason == _SPENT else None  # 429, but no waiting helps
    return Refusal(text_at(found, "error", "message"), reason, passes=spent)


STEPS: Final = {
    "chatCompletion": chat_completion,
    "createEmbedding": create_embedding,
    "generateImage": generate_image,
}
