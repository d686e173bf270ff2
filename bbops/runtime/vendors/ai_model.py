"""aiModel, in the shapes of OpenAI's API, which many servers of models speak."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from bbops.base.host import HttpResponse
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._parts import bearer, pick, text_at, with_options
from bbops.runtime.vendors._streaming import BrokenOff, VendorPieces, begin_pieces, read_data
from bbops.runtime.vendors._work import AddonFailure, Work

_ADDRESS: Final = "https://api.openai.com"
_PATH: Final = "/v1"
_DONE: Final = "[DONE]"
_SPENT: Final = "insufficient_quota"


async def chat_completion(work: Work, given: Mapping[str, Any]) -> Any:
    """Give the model a conversation."""
    return await _post(work, "chat/completions", given, pick(given, "model", "messages"))


async def stream_completion(work: Work, given: Mapping[str, Any]) -> VendorPieces:
    """Do the same, and get the first answer piece by piece."""
    ours: dict[str, Any] = {"stream": True, **pick(given, "model", "messages")}
    if "stream_options" not in (given.get("options") or {}):
        ours["stream_options"] = {"include_usage": True}
    url, body = (
        f"{_address(work)}/chat/completions",
        with_options(ours, given.get("options")),
    )
    headers = bearer(work.setting("apiKey"))
    return await begin_pieces(work, url, headers, body, CompletionEvents(), refusal=_refusal)


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


def _address(work: Work) -> str:
    """Return the address of the API; one without a path gets `/v1`."""
    address = work.address(_ADDRESS)
    return address if urlsplit(address).path else f"{address}{_PATH}"


async def _post(
    work: Work, path: str, given: Mapping[str, Any], body: Mapping[str, Any]
) -> Any:  # fmt: skip
    url = f"{_address(work)}/{path}"
    headers = bearer(work.setting("apiKey"))
    sent = with_options(body, given.get("options"))
    return await work.ask("POST", url, headers, sent, refusal=_refusal)


class CompletionEvents:
    """The events of a completion, put together as OpenAI's library does.

    Source: https://platform.openai.com/docs/api-reference/chat-streaming
    """

    def __init__(self) -> None:
        self.is_whole = False
        self._completion: dict[str, Any] = {}
        self._choices: dict[int, _Choice] = {}

    def take(self, event: str, data: str) -> str:
        """Return the text of an event; see `VendorEvents`."""
        del event
        if data == _DONE:
            self.is_whole = bool(self._completion)
            return ""
        found = read_data(data)
        if found.get("error"):
            raise BrokenOff(_refusal_of(found))
        self._completion |= {
            name: one
            for name, one in found.items()
            if one is not None and name not in {"choices", "object"}
        }
        texts = [self._grow(one) for one in found.get("choices") or ()]
        return "".join(texts)

    def _grow(self, told: dict[str, Any]) -> str:
        index = told.get("index", 0)
        choice = self._choices.setdefault(index, _Choice())
        text = choice.take(told)
        return "" if index else text

    def end(self) -> None:
        """Take an answer whose choices have all ended: some servers say no more than that."""
        ended = [one.has_ended for one in self._choices.values()]
        self.is_whole = self.is_whole or (bool(ended) and all(ended))

    def result(self) -> Any:
        """Return the completion."""
        choices = [{"index": at, **self._choices[at].result()} for at in sorted(self._choices)]
        return {"usage": None, **self._completion, "choices": choices}


class _Choice:
    """One of the answers that a completion gives, as it grows."""

    def __init__(self) -> None:
        self.has_ended = False
        self._whole: dict[str, Any] = {}
        self._message: dict[str, Any] = {"role": "assistant"}
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, dict[str, Any]] = {}

    def take(self, told: dict[str, Any]) -> str:
        self._whole |= {
            name: one
            for name, one in told.items()
            if one is not None and name not in {"index", "delta"}
        }
        self.has_ended = self.has_ended or told.get("finish_reason") is not None
        delta: dict[str, Any] = told.get("delta") or {}
        for name, one in delta.items():
            if name == "tool_calls":
                for call in one or ():
                    self._call(call)
            elif name == "role" or not isinstance(one, str):
                self._message |= {} if one is None else {name: one}
            else:
                self._texts.setdefault(name, []).append(one)
        return delta.get("content") or ""

    def _call(self, told: dict[str, Any]) -> None:
        call = self._calls.setdefault(told.get("index", 0), {"type": "function", "function": {}})
        given = told.get("function") or {}
        call |= {name: told[name] for name in ("id", "type") if told.get(name)}
        call["function"] |= {"name": given["name"]} if given.get("name") else {}
        call.setdefault("pieces", []).append(given.get("arguments") or "")

    def result(self) -> dict[str, Any]:
        texts = {name: "".join(one) for name, one in self._texts.items()}
        message = {"content": None, **self._message, **texts}
        calls = []
        for _, one in sorted(self._calls.items()):
            arguments = "".join(one["pieces"])
            known = {name: it for name, it in one.items() if name != "pieces"}
            calls.append({**known, "function": {**one["function"], "arguments": arguments}})
        if calls:
            message["tool_calls"] = calls
        return {**self._whole, "message": message}


def _refusal(_: HttpResponse, found: Any) -> Refusal:
    return _refusal_of(found)


def _refusal_of(found: Any) -> Refusal:
    reason = text_at(found, "error", "code") or text_at(found, "error", "type")
    spent = False if reason == _SPENT else None  # 429, but no waiting helps
    return Refusal(text_at(found, "error", "message"), reason, passes=spent)


async def probe(work: Work) -> str:
    """Ask which models there are."""
    url = f"{_address(work)}/models"
    await work.ask("GET", url, bearer(work.setting("apiKey")), refusal=_refusal)
    return ""


STEPS: Final = {
    "chatCompletion": chat_completion,
    "createEmbedding": create_embedding,
    "generateImage": generate_image,
}
STREAMS: Final = {"chatCompletion": stream_completion}
PROBE: Final = probe
