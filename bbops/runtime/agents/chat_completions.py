"""Chat completions, the protocol of OpenAI that many servers of models have.

Some of these servers refuse arguments that are not JSON, names with other characters than
`[A-Za-z0-9_-]`, and empty lists of calls, also in messages that they wrote themselves.

Source: https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from bbops.runtime.agents.conversation import (
    Message,
    ModelAnswer,
    ModelMessage,
    ModelSettings,
    ToolCall,
    ToolSpec,
    UserTurn,
    read_turns,
)
from bbops.runtime.agents.tools import GivenCall, read_calls, safe_name, write_arguments
from bbops.runtime.agents.values import CUT_SHORT, EMPTY, maps_in, no_answer, text_of, tokens_at

LIMITS: Final = frozenset({"max_completion_tokens", "max_tokens"})
"""Options that limit the answer. Newer models of OpenAI refuse `max_tokens`, Mistral refuses
`max_completion_tokens`, and Ollama ignores it: an agent there gives `max_tokens` in its options.
"""

_NOT_SENT_BACK: Final = frozenset({"annotations", "audio", "function_call", "tool_calls"})
_FILTERED: Final = "content_filter"


@dataclass(frozen=True, slots=True)
class ChatCompletions:
    """The dialect of `aiModel.chatCompletion`."""

    step: ClassVar[str] = "aiModel.chatCompletion"
    reserved: ClassVar[frozenset[str]] = frozenset({
        "function_call", "functions", "messages", "model", "n", "stream", "stream_options"
    })  # fmt: skip
    """Options that an agent cannot have."""

    def write(
        self, model: ModelSettings, instructions: str, messages: Sequence[Message],
        tools: Sequence[ToolSpec],
    ) -> dict[str, Any]:  # fmt: skip
        """Return the parameters of the step; see `ModelDialect`."""
        options = dict(model.options)
        if not LIMITS & options.keys():
            options["max_completion_tokens"] = model.max_tokens
        every_tool = [*(options.pop("tools", None) or ()), *map(_write_tool, tools)]
        if every_tool:
            options["tools"] = every_tool
        sent = [{"role": "system", "content": instructions}] if instructions.strip() else []
        for turn in read_turns(messages):
            sent += _write_user(turn) if isinstance(turn, UserTurn) else [_write_model(turn)]
        return {"model": model.name, "messages": sent, "options": options}

    def read(self, result: Any) -> ModelAnswer:
        """Return the first choice of a completion; see `ModelDialect`."""
        choice = _first(result)
        message, reason = choice["message"], text_of(choice.get("finish_reason"))
        given = maps_in(message.get("tool_calls"))
        seed = [result.get("id"), result.get("created")]
        calls = read_calls([_read_call(call) for call in given], seed)
        text = _text(message.get("content")) or _text(message.get("refusal"))
        if not calls and not text.strip():
            raise no_answer(_EMPTY.get(reason, EMPTY))
        usage = result.get("usage")
        return ModelAnswer(
            ModelMessage(text, calls, _sent_back(message, given, calls)),
            reason in {"length", _FILTERED},
            tokens_at(usage, "prompt_tokens"),
            tokens_at(usage, "completion_tokens"),
        )


_EMPTY: Final[Mapping[Any, str]] = {
    "length": CUT_SHORT,
    _FILTERED: "the vendor's filter removed the answer of the model",
}


def _write_tool(tool: ToolSpec) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description.strip() else {}
    function = {"name": tool.name, **described, "parameters": dict(tool.schema)}
    return {"type": "function", "function": function}


def _write_user(turn: UserTurn) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": result.call.id, "content": result.text}
        for result in turn.results
    ]
    if turn.texts:
        sent.append({"role": "user", "content": "\n\n".join(turn.texts)})
    return sent


def _write_model(message: ModelMessage) -> dict[str, Any]:
    if message.raw is not None:
        return dict(message.raw)
    content = message.text if message.text.strip() else None
    calls = [_write_call({}, call) for call in message.calls]
    return {"role": "assistant", "content": content} | ({"tool_calls": calls} if calls else {})


def _write_call(given: Mapping[str, Any], call: ToolCall) -> dict[str, Any]:
    """Return a call for the next request; arguments that are not a map become an empty one."""
    function = given.get("function")
    written = dict(function) if isinstance(function, dict) else {}
    text = written.get("arguments")
    if call.arguments is None:
        text = "{}"
    elif not isinstance(text, str) or not text.strip():
        text = write_arguments(call.arguments)
    written |= {"name": safe_name(call.name), "arguments": text}
    kept = {name: part for name, part in given.items() if name != "custom"}
    return {**kept, "id": call.id, "type": "function", "function": written}


def _read_call(call: Mapping[str, Any]) -> GivenCall:
    function = call.get("function")
    if isinstance(function, dict):
        return GivenCall(call.get("id"), function.get("name"), function.get("arguments"))
    custom = call.get("custom")
    custom = custom if isinstance(custom, dict) else {}
    return GivenCall(call.get("id"), custom.get("name"), custom.get("input"))


def _first(result: Any) -> dict[str, Any]:
    choices = result.get("choices") if isinstance(result, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict) or not isinstance(first.get("message"), dict):
        raise no_answer("the model's answer has no 'choices[0].message'")
    return first


def _text(content: Any) -> str:
    """Return a text, or the texts of parts: some models write their thoughts as other parts."""
    if isinstance(content, str):
        return content
    return "".join(text_of(part.get("text")) for part in maps_in(content))


def _sent_back(
    message: Mapping[str, Any], given: Sequence[Mapping[str, Any]], calls: Sequence[ToolCall]
) -> dict[str, Any]:  # fmt: skip
    """Return the message with the thoughts and signatures that some vendors want back."""
    kept = {
        name: part for name, part in message.items()
        if name not in _NOT_SENT_BACK and part is not None and part != []
    }  # fmt: skip
    content = kept.get("content")
    if isinstance(content, str) and not content.strip():
        content = None
    sent = {**kept, "role": "assistant", "content": content}
    written = [_write_call(before, call) for before, call in zip(given, calls, strict=True)]
    return sent | ({"tool_calls": written} if written else {})
