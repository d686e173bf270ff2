"""The memory of a chat: the messages of its earlier turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, takewhile
from typing import Any, Final

import msgspec

from bbops.runtime.agents.conversation import (
    CallResult,
    Message,
    ModelMessage,
    ToolCall,
    UserMessage,
)
from bbops.runtime.agents.naming import tool_name

MOST_CHARACTERS: Final = 200_000
"""The most characters of earlier turns that a model sees again."""


def remember(rows: Iterable[Sequence[Any]], most: int) -> list[Message]:
    """Return messages of whole turns, oldest first, as many turns as fit.

    Args:
        rows: run, kind, name and content of steps, newest first; see `tables.MEMORY`.
        most: the most messages.
    """
    found: list[Message] = []
    size = 0
    for _, steps in groupby(rows, key=lambda row: row[0]):
        recorded = [*steps]
        turn = _messages(reversed(recorded))
        size += sum(len(row[3]) for row in recorded)
        if len(found) + len(turn) > most or size > MOST_CHARACTERS:
            break
        found = turn + found
    return found


def _messages(steps: Iterable[Sequence[Any]]) -> list[Message]:
    """Return the messages of one turn: each call of the model is followed by its result."""
    found: list[Message] = []
    for _, kind, name, content in steps:
        told = msgspec.json.decode(content)
        if kind == "message":
            found.append(UserMessage(told["text"]))
        elif kind == "model":
            found.append(ModelMessage(told["text"], tuple(map(_call, told["calls"]))))
        elif kind == "tool":
            found.append(CallResult(_call(told), told["result"], told["isError"]))
        del name
    return _answered(found)


def _answered(messages: list[Message]) -> list[Message]:
    """Return messages without calls that have no result: the answer of a run with a shape."""
    found: list[Message] = []
    for at, message in enumerate(messages):
        if isinstance(message, ModelMessage):
            results = takewhile(lambda after: isinstance(after, CallResult), messages[at + 1 :])
            done = {result.call.id for result in results if isinstance(result, CallResult)}
            open_ = [call for call in message.calls if call.id not in done]
            calls = tuple(call for call in message.calls if call.id in done)
            text = message.text or _written(open_)
            if text or calls:
                found.append(ModelMessage(text, calls))
        else:
            found.append(message)
    return found


def _written(calls: Sequence[ToolCall]) -> str:
    return msgspec.json.encode([call.arguments for call in calls]).decode() if calls else ""


def _call(told: dict[str, Any]) -> ToolCall:
    arguments = told["arguments"]
    if isinstance(arguments, dict):
        return ToolCall(told["id"], tool_name(told["tool"]), arguments)
    return ToolCall(told["id"], tool_name(told["tool"]), None, str(arguments))
