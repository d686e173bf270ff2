"""Anthropic's Messages API.

Source: https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons and
https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from bbops.runtime.agents.conversation import (
    CallResult,
    Message,
    ModelAnswer,
    ModelMessage,
    ModelSettings,
    ToolCall,
    ToolSpec,
    UserTurn,
    read_turns,
)
from bbops.runtime.agents.tools import GivenCall, read_calls, safe_id, safe_name, write_arguments
from bbops.runtime.agents.values import CUT_SHORT, EMPTY, maps_in, no_answer, text_of, tokens_at

_CUT: Final = frozenset({"max_tokens", "model_context_window_exceeded"})
_PAUSED: Final = "pause_turn"
"""A long turn of the vendor's own tools, which only options give an agent."""

_REFUSED: Final = "refusal"
_EMPTY: Final = dict.fromkeys(_CUT, CUT_SHORT) | {_REFUSED: "the model refused to answer"}
_TOKENS_IN: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_NO_TEXT: Final = "error"
"""The text of an error without one: the vendor refuses an empty error."""


@dataclass(frozen=True, slots=True)
class AnthropicMessages:
    """The dialect of `chatModel.createMessage`."""

    step: ClassVar[str] = "chatModel.createMessage"
    reserved: ClassVar[frozenset[str]] = frozenset({"messages", "model", "stream", "system"})
    """Options that an agent cannot have."""

    def write(
        self, model: ModelSettings, instructions: str, messages: Sequence[Message],
        tools: Sequence[ToolSpec],
    ) -> dict[str, Any]:  # fmt: skip
        """Return the parameters of the step; see `ModelDialect`."""
        options = dict(model.options)
        limit, temperature = options.pop("max_tokens", None), options.pop("temperature", None)
        every_tool = [*(options.pop("tools", None) or ()), *map(_write_tool, tools)]
        if every_tool:
            options["tools"] = every_tool
        sent: dict[str, Any] = {
            "model": model.name,
            "messages": [_write_turn(turn) for turn in read_turns(messages)],
            "maxTokens": model.max_tokens if limit is None else limit,
            "options": options,
        }
        sent |= {"system": instructions} if instructions.strip() else {}
        return sent | ({} if temperature is None else {"temperature": temperature})

    def read(self, result: Any) -> ModelAnswer:
        """Return the message of the model; see `ModelDialect`."""
        blocks, reason = _blocks(result), text_of(result.get("stop_reason"))
        texts = [text_of(block.get("text")) for block in blocks if block.get("type") == "text"]
        text = "".join(texts)
        given = [block for block in blocks if block.get("type") == "tool_use"]
        calls = read_calls([_read_call(block) for block in given], result.get("id"))
        if reason in _CUT and blocks and blocks[-1].get("type") == "tool_use":
            calls = (*calls[:-1], _unfinished(calls[-1]))
        if reason == _REFUSED or (not calls and not text.strip()):
            raise no_answer(_EMPTY.get(reason, EMPTY))
        usage = result.get("usage")
        return ModelAnswer(
            ModelMessage(text, calls, _sent_back(blocks, calls)),
            reason in _CUT or reason == _PAUSED,
            tokens_at(usage, *_TOKENS_IN),
            tokens_at(usage, "output_tokens"),
        )


def _write_tool(tool: ToolSpec) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description.strip() else {}
    return {"name": tool.name, **described, "input_schema": {"type": "object", **tool.schema}}


def _write_turn(turn: UserTurn | ModelMessage) -> dict[str, Any]:
    if isinstance(turn, UserTurn):
        blocks = [*map(_write_result, turn.results), *map(_write_text, turn.texts)]
        return {"role": "user", "content": blocks}
    if turn.raw is not None:
        return {"role": "assistant", "content": list(turn.raw)}
    texts = [_write_text(turn.text)] if turn.text.strip() else []
    return {"role": "assistant", "content": [*texts, *map(_write_call, turn.calls)]}


def _write_text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _write_call(call: ToolCall) -> dict[str, Any]:
    """Return a call for the next request; arguments that are not a map become an empty one."""
    return {
        "type": "tool_use", "id": safe_id(call.id), "name": safe_name(call.name),
        "input": call.arguments or {},
    }  # fmt: skip


def _write_result(result: CallResult) -> dict[str, Any]:
    text = result.text if result.text.strip() else (_NO_TEXT if result.is_error else "")
    block = {"type": "tool_result", "tool_use_id": safe_id(result.call.id)}
    content = {"content": text} if text else {}
    return {**block, **content, **({"is_error": True} if result.is_error else {})}


def _blocks(result: Any) -> list[dict[str, Any]]:
    blocks = result.get("content") if isinstance(result, dict) else None
    if not isinstance(blocks, list):
        raise no_answer("the model's answer has no list 'content'")
    return maps_in(blocks)


def _read_call(block: dict[str, Any]) -> GivenCall:
    return GivenCall(block.get("id"), block.get("name"), block.get("input"))


def _unfinished(call: ToolCall) -> ToolCall:
    """Return the call at which an answer ended: its arguments may lack some of their members."""
    text = call.text if call.arguments is None else write_arguments(call.arguments)
    return ToolCall(call.id, call.name, None, text)


def _sent_back(blocks: Sequence[dict[str, Any]], calls: Sequence[ToolCall]) -> list[Any]:
    """Return the blocks, thoughts with their signatures too, without nulls and blank texts."""
    left = iter(calls)
    sent: list[Any] = []
    for given in blocks:
        block = {name: part for name, part in given.items() if part is not None}
        if block.get("type") == "tool_use":
            arguments = block.get("input")
            kept = {"input": arguments} if isinstance(arguments, dict) else {}
            sent.append({**block, **_write_call(next(left)), **kept})
        elif block.get("type") != "text" or text_of(block.get("text")).strip():
            sent.append(block)
    return sent
