"""Answers of models as cases of tests write them, in the shapes of their addons."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bbops.runtime.agents.values import STEPS, tool_name


def scripted_answer(
    step: str, replies: Sequence[Any], parameters: Mapping[str, Any]
) -> Any | None:  # fmt: skip
    """Return the result of the step that asks a model, as a case writes it; None at its end.

    Args:
        step: one of STEPS.
        replies: each `{say}`, `{tool, args}`, or a list of calls.
        parameters: the parameters; the reply is chosen by the number of the model's messages.
    """
    number = count_answers(parameters)
    if number >= len(replies):
        return None
    reply = replies[number]
    parts = reply if isinstance(reply, list) else [reply]
    calls = [part for part in parts if "tool" in part]
    text = "".join(str(part["say"]) for part in parts if "say" in part)
    write = _completion if step == STEPS["aiModel"] else _message
    return write(number, text, calls)


def count_answers(parameters: Mapping[str, Any]) -> int:
    """Return the number of the model's messages in the parameters of its step."""
    return sum(message.get("role") == "assistant" for message in parameters["messages"])


def _completion(number: int, text: str, calls: Sequence[Mapping[str, Any]]) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}_{at}", "type": "function",
                "function": {
                    "name": tool_name(call["tool"]),
                    "arguments": json.dumps(call.get("args") or {}),
                },
            } for at, call in enumerate(calls)
        ]  # fmt: skip
    reason = "tool_calls" if calls else "stop"
    return {
        "id": f"test-{number}", "model": "test", "created": 0,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    }  # fmt: skip


def _message(number: int, text: str, calls: Sequence[Mapping[str, Any]]) -> Any:
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    content += [
        {
            "type": "tool_use", "id": f"call_{number}_{at}", "name": tool_name(call["tool"]),
            "input": call.get("args") or {},
        } for at, call in enumerate(calls)
    ]  # fmt: skip
    return {
        "id": f"test-{number}", "type": "message", "role": "assistant", "content": content,
        "model": "test", "stop_reason": "tool_use" if calls else "end_turn",
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }  # fmt: skip
