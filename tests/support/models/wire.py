"""The two protocols of the stand-in for models: requests, answers, events and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.support.models.rules import chat_mistakes, message_mistakes
from tests.support.models.script import BadArguments, Say, ScriptedAnswer

Protocol = Literal["chat", "messages"]
PATHS: Mapping[str, Protocol] = {"/v1/chat/completions": "chat", "/v1/messages": "messages"}
TOKENS_IN, TOKENS_OUT = 20, 5
"""The usage of each answer."""


@dataclass(frozen=True)
class ModelRequest:
    """A request with the status of its response; 0 is a connection that was cut."""

    protocol: Protocol
    headers: Mapping[str, str]
    body: Any
    status: int

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def messages(self) -> list[Any]:
        """Return the messages, without the instructions."""
        return [item for item in self.body["messages"] if item["role"] != "system"]

    @property
    def instructions(self) -> str:
        if self.protocol == "messages":
            return str(self.body.get("system", ""))
        return "".join(
            item["content"] for item in self.body["messages"] if item["role"] == "system"
        )

    @property
    def tools(self) -> list[str]:
        """Return the names of the tools."""
        tools = self.body.get("tools", [])
        return [tool["function"]["name"] if "function" in tool else tool["name"] for tool in tools]

    @property
    def answered(self) -> int:
        """Return the number of the model's messages."""
        return sum(message["role"] == "assistant" for message in self.messages)

    @property
    def results(self) -> list[str]:
        """Return the results of the last calls."""
        return [text for kind, text in self._last() if kind == "result"]

    @property
    def texts(self) -> list[str]:
        """Return the texts of the user after the last answer."""
        return [text for kind, text in self._last() if kind == "text"]

    def mistakes(self) -> list[str]:
        """Return the rules of the vendor that the request breaks."""
        check = chat_mistakes if self.protocol == "chat" else message_mistakes
        return [*check(self.body)]

    def _last(self) -> Iterator[tuple[str, str]]:
        at = [place for place, item in enumerate(self.messages) if item["role"] == "assistant"]
        for message in self.messages[at[-1] + 1 if at else 0 :]:
            if message["role"] == "tool":
                yield "result", message["content"]
            elif isinstance(message["content"], str):
                yield "text", message["content"]
            else:
                for block in message["content"]:
                    is_result = block["type"] == "tool_result"
                    text = block.get("content", "") if is_result else block["text"]
                    yield ("result" if is_result else "text"), text


def write_answer(request: ModelRequest, answer: ScriptedAnswer) -> Any:
    """Return an answer in the shape of the request's protocol; its ids contain its place."""
    place = request.answered
    if request.protocol == "chat":
        return _completion(request.model, place, answer)
    return _message(request.model, place, answer)


def _text(answer: ScriptedAnswer) -> str:
    return "".join(part.text for part in answer.parts if isinstance(part, Say))


def _completion(model: str, place: int, answer: ScriptedAnswer) -> Any:
    calls = [
        {"id": f"call_{place}_{at}", "type": "function",
         "function": {"name": part.tool, "arguments": part.text}}
        for at, part in enumerate(answer.parts) if not isinstance(part, Say)
    ]  # fmt: skip
    message = {"role": "assistant", "content": _text(answer) or None, "refusal": None}
    message |= {"tool_calls": calls} if calls else {}
    reason = "length" if answer.is_cut else "tool_calls" if calls else "stop"
    usage = {
        "prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT,
        "total_tokens": TOKENS_IN + TOKENS_OUT,
    }  # fmt: skip
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    return {
        "id": f"chatcmpl-{place}", "object": "chat.completion", "created": 1_790_000_000,
        "model": model, "choices": [choice], "usage": usage,
    }  # fmt: skip


def _message(model: str, place: int, answer: ScriptedAnswer) -> Any:
    blocks: list[Any] = [{"type": "text", "text": text} for text in [_text(answer)] if text]
    for at, part in enumerate(answer.parts):
        if not isinstance(part, Say):
            given = part.text if isinstance(part, BadArguments) else dict(part.arguments)
            name = {"id": f"toolu_{place}_{at}", "name": part.tool}
            blocks.append({"type": "tool_use", **name, "input": given})
    has_calls = blocks and blocks[-1]["type"] == "tool_use"
    reason = "max_tokens" if answer.is_cut else "tool_use" if has_calls else "end_turn"
    return {
        "id": f"msg_{place}", "type": "message", "role": "assistant", "model": model,
        "content": blocks, "stop_reason": reason, "stop_sequence": None,
        "usage": {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT},
    }  # fmt: skip


def write_events(protocol: Protocol, answer: Any) -> list[str]:
    """Return an answer as the events of a stream."""
    if protocol == "chat":
        return _chunks(answer)
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(answer)]


def _chunks(answer: Any) -> list[str]:
    choice = answer["choices"][0]
    message = choice["message"]
    text = message["content"] or ""
    deltas: list[Any] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word} for word in _words(text)]
    calls = message.get("tool_calls", ())
    deltas += [{"tool_calls": [{"index": at, **call}]} for at, call in enumerate(calls)]
    chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    chunks.append({"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]})
    head = {**answer, "object": "chat.completion.chunk"}
    events = [{**head, "choices": [chunk], "usage": None} for chunk in chunks]
    events.append({**head, "choices": []})
    return [*(f"data: {json.dumps(event)}\n\n" for event in events), "data: [DONE]\n\n"]


def _events(answer: Any) -> Iterator[Any]:
    usage = {**answer["usage"], "output_tokens": 1}
    yield {
        "type": "message_start",
        "message": {**answer, "content": [], "stop_reason": None, "usage": usage},
    }
    for at, block in enumerate(answer["content"]):
        if block["type"] == "text":
            start, deltas = {**block, "text": ""}, _deltas("text", _words(block["text"]))
        else:
            start = {**block, "input": {}}
            deltas = _deltas("input_json", [json.dumps(block["input"])], "partial_json")
        yield {"type": "content_block_start", "index": at, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}
    stop = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": TOKENS_OUT}}
    yield {"type": "message_stop"}


def _deltas(kind: str, pieces: Sequence[str], name: str = "") -> list[Any]:
    return [{"type": f"{kind}_delta", name or kind: piece} for piece in pieces]


def _words(text: str) -> list[str]:
    words = text.split(" ")
    return [word if at == 0 else f" {word}" for at, word in enumerate(words)] if text else []


def write_error(protocol: Protocol, kind: str, message: str) -> Any:
    """Return an error in the shape of the protocol."""
    if protocol == "chat":
        return {"error": {"message": message, "type": kind, "param": None, "code": kind}}
    return {"type": "error", "error": {"type": kind, "message": message}}
