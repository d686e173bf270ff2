"""Rules for conversations that vendors enforce and their descriptions do not contain."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}").fullmatch


def chat_mistakes(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the mistakes of a request for a chat completion."""
    messages = [message for message in body["messages"] if message["role"] != "system"]
    yield from _order_mistakes(messages)
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                yield "'tool' messages must follow a message with their call"
            else:
                open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            yield "a call is not followed by its result"
        if message["role"] == "user" and not message["content"].strip():
            yield "a message of the user is blank"
        calls = message.get("tool_calls")
        if calls == []:
            yield "'tool_calls' is empty"
        yield from (text for call in calls or () for text in _call_mistakes(call["function"]))
        open_calls = [call["id"] for call in calls or ()]
    if open_calls:
        yield "a call is not followed by its result"
    roles = [message["role"] for message in messages]
    yield from _alternation(["user" if role == "tool" else role for role in _joined(roles)])


def message_mistakes(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the mistakes of a request for a message of Anthropic."""
    messages = body["messages"]
    yield from _order_mistakes(messages)
    calls: list[str] = []
    for message in messages:
        blocks = _blocks(message["content"])
        if not blocks:
            yield "a message is empty"
        kinds = [block["type"] for block in blocks]
        results = [block for block in blocks if block["type"] == "tool_result"]
        if sorted(block["tool_use_id"] for block in results) != sorted(calls):
            yield f"expected the results of {calls}, found {results}"
        if "tool_result" in kinds[len(results) :]:
            yield "'tool_result' must come before the text"
        if any(block.get("is_error") and not block.get("content") for block in results):
            yield "the content of an error is empty"
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            yield "text content blocks must contain non-whitespace text"
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    if calls:
        yield "a call is not followed by its result"
    yield from _alternation([message["role"] for message in messages])


def _order_mistakes(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not messages or messages[0]["role"] != "user":
        yield "the first message must be the user's"
    elif messages[-1]["role"] == "assistant":
        yield "the conversation must end with a message of the user"


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _call_mistakes(function: Mapping[str, Any]) -> Iterator[str]:
    if not _NAME(function["name"]):
        yield f"the name '{function['name']}' does not match the pattern"
    try:
        arguments = json.loads(function["arguments"])
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        yield "the arguments of a call are not a map"


def _joined(roles: Sequence[str]) -> list[str]:
    """Return roles with results and the text after them as one message."""
    found: list[str] = []
    for role in roles:
        if found and found[-1] == "tool" and role in {"tool", "user"}:
            continue
        found.append(role)
    return found


def _alternation(roles: Sequence[str]) -> Iterator[str]:
    for before, role in pairwise(roles):
        if before == role:
            yield f"two messages of the role '{role}' follow each other"
