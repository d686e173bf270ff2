"""chatModel, in the shapes of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bbops.base.host import HttpResponse
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._parts import bearer, pick, text_at, with_options
from bbops.runtime.vendors._streaming import BrokenOff, VendorPieces, begin_pieces, read_data
from bbops.runtime.vendors._work import Work

_ADDRESS: Final = "https://api.anthropic.com"
_VERSION: Final = "2026-10-21"
_WITH_TEMPERATURE: Final = "2023-06-01"
"""The newer version refuses a temperature, whatever it is."""

_TOKENS: Final = 1_024


async def create_message(work: Work, given: Mapping[str, Any]) -> Any:
    """Give the model a conversation, and get its next message."""
    url, headers, body = _asked(work, given, {})
    return await work.ask("POST", url, headers, body, refusal=_refusal)


async def stream_message(work: Work, given: Mapping[str, Any]) -> VendorPieces:
    """Do the same, and get the message piece by piece."""
    url, headers, body = _asked(work, given, {"stream": True})
    return await begin_pieces(work, url, headers, body, MessageEvents(), refusal=_refusal)


def _asked(
    work: Work, given: Mapping[str, Any], more: Mapping[str, Any]
) -> tuple[str, Mapping[str, str], Any]:  # fmt: skip
    ours = {"max_tokens": given.get("maxTokens", _TOKENS), **more}
    ours |= pick(given, "model", "messages", "system", "temperature")
    body = with_options(ours, given.get("options"))
    version = _WITH_TEMPERATURE if "temperature" in body else _VERSION
    headers = bearer(work.setting("apiKey")) | {"anthropic-version": version}
    return f"{work.address(_ADDRESS)}/v1/messages", headers, body


class MessageEvents:
    """The events of a message, put together as Anthropic's library does.

    Source: https://docs.anthropic.com/en/api/messages-streaming
    """

    def __init__(self) -> None:
        self.is_whole = False
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._texts: dict[tuple[int, str], list[str]] = {}

    def take(self, event: str, data: str) -> str:
        """Return the text of an event; see `VendorEvents`."""
        del event  # the data says it, too
        found = read_data(data)
        kind = found.get("type")
        if kind == "error":
            raise BrokenOff(_refusal_of(found))
        if kind == "message_start":
            self._message = dict(found["message"])
        elif kind == "content_block_start":
            self._blocks[found["index"]] = dict(found["content_block"])
        elif kind == "content_block_delta":
            return self._grow(found["index"], found["delta"])
        elif kind == "message_delta":
            self._message |= found["delta"]
            counted = (found.get("usage") or {}).items()
            known = {name: one for name, one in counted if one is not None}
            self._message["usage"] = {**(self._message.get("usage") or {}), **known}
        elif kind == "message_stop":
            self.is_whole = bool(self._message)
        return ""

    def _grow(self, index: int, delta: dict[str, Any]) -> str:
        if delta["type"] == "citations_delta":
            cited = self._blocks[index].get("citations") or []
            self._blocks[index]["citations"] = [*cited, delta["citation"]]
            return ""
        name = _GROWS.get(delta["type"])
        if name is None:
            return ""  # of a newer version: the whole message may lack it
        self._texts.setdefault((index, name), []).append(delta[name])
        return delta["text"] if name == "text" else ""

    def end(self) -> None:
        """Take note that nothing more comes; see `VendorEvents`."""

    def result(self) -> Any:
        """Return the message."""
        for (index, name), texts in self._texts.items():
            block, text = self._blocks[index], "".join(texts)
            if name == "partial_json":
                block["input"] = read_data(text) if text else {}
            else:
                block[name] = (block.get(name) or "") + text
        return {**self._message, "content": [self._blocks[one] for one in sorted(self._blocks)]}


_GROWS: Final = {
    "text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature",
    "input_json_delta": "partial_json",
}  # fmt: skip
"""Which field of a block a piece belongs to."""


def _refusal(_: HttpResponse, found: Any) -> Refusal:
    return _refusal_of(found)


def _refusal_of(found: Any) -> Refusal:
    return Refusal(text_at(found, "error", "message"), text_at(found, "error", "type"))


async def probe(work: Work) -> str:
    """Ask which models there are."""
    url = f"{work.address(_ADDRESS)}/v1/models"
    headers = bearer(work.setting("apiKey")) | {"anthropic-version": _VERSION}
    await work.ask("GET", url, headers, refusal=_refusal)
    return ""


STEPS: Final = {"createMessage": create_message}
STREAMS: Final = {"createMessage": stream_message}
PROBE: Final = probe
