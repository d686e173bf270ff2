"""The dialects of agents' models: requests that each vendor accepts, and answers of each kind."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from bbops.language.addons._base import spec_of
from bbops.language.addons.chat_model import ADDON
from bbops.language.resources.agent import MODEL_ADDONS
from bbops.runtime.agents.conversation import (
    CallResult,
    Message,
    ModelAnswer,
    ModelDialect,
    ModelMessage,
    ToolCall,
    UserMessage,
)
from bbops.runtime.agents.dialects import DIALECTS, dialect_of
from bbops.runtime.steps.addons import AddonFailure, make_reader
from tests.support.models.conversations import (
    SETTINGS,
    TOOLS,
    body_of,
    conversations,
    mistakes_in,
)
from tests.vendors.descriptions import find
from tests.vendors.stand_in import Request

CHAT, MESSAGES = dialect_of("aiModel"), dialect_of("chatModel")
PATHS = {"aiModel": "/v1/chat/completions", "chatModel": "/v1/messages"}
HELLO = UserMessage("hello")
CALL = ToolCall("call_1", "order_get", {"id": 7})
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
pytestmark = pytest.mark.quick


def completion(reason: str = "stop", **message: Any) -> Any:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    usage = {"prompt_tokens": 20, "completion_tokens": 5}
    return {"id": "chatcmpl-1", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def called(**call: Any) -> Any:
    function = {"name": "order_get", "arguments": '{"id": 7}', **call.pop("function", {})}
    return {"id": "call_1", "type": "function", "function": function, **call}


def message(*content: Any, reason: str = "end_turn", **usage: int) -> Any:
    counted = {"input_tokens": 20, "output_tokens": 5, **usage}
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [*content], "stop_reason": reason, "usage": counted,
    }  # fmt: skip


def text(value: str) -> dict[str, str]:
    return {"type": "text", "text": value}


def used(**block: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": "order_get", "input": {"id": 7}, **block}


def next_messages(answer: ModelAnswer) -> list[Message]:
    results = [CallResult(call, "ok") for call in answer.message.calls]
    return [HELLO, answer.message, *results, UserMessage("go on")]


@pytest.mark.parametrize("addon", MODEL_ADDONS)
@given(conversations())
def test_every_conversation_follows_the_vendors_rules(addon: str, messages: list[Message]) -> None:
    dialect = DIALECTS[addon]
    assert mistakes_in(dialect, body_of(dialect, messages)) == []


@pytest.mark.long
@pytest.mark.parametrize("addon", MODEL_ADDONS)
@given(conversations())
def test_every_request_matches_the_vendors_description(addon: str, messages: list[Message]) -> None:
    body = body_of(DIALECTS[addon], messages)
    request = Request("POST", PATHS[addon], [], "application/json", body, {})
    operation = find(addon, request)
    assert operation is not None
    assert [*operation.mistakes(request)] == []


def test_chat_completion_has_tools_instructions_and_a_limit() -> None:
    results = [CallResult(CALL, "ok")]
    body = body_of(CHAT, [HELLO, ModelMessage("", (CALL,)), *results, UserMessage("and?")])
    assert body["max_completion_tokens"] == 500
    assert [tool["function"]["name"] for tool in body["tools"]] == ["order_get", "refund-order"]
    arguments = body["messages"][2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {"id": 7}
    roles = [item["role"] for item in body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]


def test_message_has_results_before_texts_in_one_turn() -> None:
    second = ToolCall("call_2", "order_get", {})
    results = [CallResult(second, "", is_error=True), CallResult(CALL, "ok")]
    answer = ModelMessage("looking", (CALL, second))
    body = body_of(MESSAGES, [HELLO, answer, UserMessage("and?"), *results, UserMessage(" ")])
    assert (body["system"], body["max_tokens"]) == ("Be kind.", 500)
    assert body["messages"][2] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "call_1", "content": "ok"},
            {"type": "tool_result", "tool_use_id": "call_2", "content": "error", "is_error": True},
            text("and?"),
        ],
    }


@pytest.mark.parametrize("dialect", DIALECTS.values())
def test_blank_message_of_the_user_still_ends_the_conversation(dialect: ModelDialect) -> None:
    body = body_of(dialect, [HELLO, ModelMessage("hi"), UserMessage(" ")])
    assert "(empty message)" in str(body["messages"][-1])


@pytest.mark.parametrize("dialect", DIALECTS.values())
def test_consecutive_answers_of_earlier_runs_become_one(dialect: ModelDialect) -> None:
    answers = [ModelMessage("a"), ModelMessage(""), ModelMessage("b")]
    body = body_of(dialect, [HELLO, *answers, HELLO])
    assert [item["role"] for item in body["messages"][-3:]] == ["user", "assistant", "user"]
    assert "a\\n\\nb" in str(body["messages"][-2])


@pytest.mark.parametrize("dialect", DIALECTS.values())
def test_agent_without_tools_sends_no_empty_list(dialect: ModelDialect) -> None:
    body = body_of(dialect, [HELLO], tools=(), instructions=" ")
    assert {"tools", "system"} & body.keys() == set()
    assert [item["role"] for item in body["messages"]] == ["user"]


@pytest.mark.parametrize("dialect", DIALECTS.values())
def test_options_come_before_the_settings_of_the_agent(dialect: ModelDialect) -> None:
    options = {"max_tokens": 9, "temperature": 0.5, "tools": [{"type": "web_search"}]}
    body = body_of(dialect, [HELLO], model=replace(SETTINGS, options=options))
    assert (body["max_tokens"], body["temperature"]) == (9, 0.5)
    assert "max_completion_tokens" not in body
    assert len(body["tools"]) == 1 + len(TOOLS)
    assert options["max_tokens"] == 9, "the settings stay as they are"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [("", {}), (" \n", {}), (None, {}), ({"id": 7}, {"id": 7}), ('{"id": 7}', {"id": 7}),
     ('{"id": 7', None), ("[]", None), ("7", None), ('"x"', None), ("[" * 100_000, None),
     ("NaN", None), (7, None)],
)  # fmt: skip
def test_arguments_of_a_completion_are_a_map_or_a_text(arguments: Any, expected: Any) -> None:
    answer = CHAT.read(completion(tool_calls=[called(function={"arguments": arguments})]))
    (call,) = answer.message.calls
    assert call.arguments == expected
    assert call.text == ("" if expected is not None else str(arguments))
    assert mistakes_in(CHAT, body_of(CHAT, next_messages(answer))) == []


def test_vendors_fields_of_an_answer_are_sent_back() -> None:
    given_call = called(extra_content={"google": {"thought_signature": "c2ln"}})
    answer = CHAT.read(completion(content="", reasoning_content="hm", tool_calls=[given_call],
                                  refusal=None, annotations=[]))  # fmt: skip
    assert body_of(CHAT, next_messages(answer))["messages"][2] == {
        "role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [given_call]
    }  # fmt: skip
    redacted = {"type": "redacted_thinking", "data": "eA=="}
    told = MESSAGES.read(
        message(THOUGHT, redacted, text("\n"), used(caller={"type": "direct"}, x=None))
    )
    sent = body_of(MESSAGES, next_messages(told))["messages"][1]["content"]
    assert sent == [THOUGHT, redacted, used(caller={"type": "direct"})]


@pytest.mark.parametrize("ids", [[None, None], ["", " "], ["same", "same"], [7, ["x"]]])
def test_calls_without_an_id_of_their_own_get_one(ids: list[Any]) -> None:
    chat = CHAT.read(completion(tool_calls=[called(id=name) for name in ids]))
    told = MESSAGES.read(message(*(used(id=name) for name in ids), reason="tool_use"))
    for dialect, answer in ((CHAT, chat), (MESSAGES, told)):
        names = [call.id for call in answer.message.calls]
        assert len({*names}) == 2
        assert mistakes_in(dialect, body_of(dialect, next_messages(answer))) == []
    again = CHAT.read(completion(tool_calls=[called(id=name) for name in ids]))
    assert again == chat, "a replayed answer has the same ids"


def test_names_of_unknown_tools_are_sent_back_in_allowed_characters() -> None:
    wrong = completion(tool_calls=[called(function={"name": "functions.order get"})])
    answer = CHAT.read(wrong)
    assert answer.message.calls[0].name == "functions.order get"
    assert mistakes_in(CHAT, body_of(CHAT, next_messages(answer))) == []


def test_text_of_parts_leaves_thoughts_out() -> None:
    parts = [{"type": "thinking", "thinking": [text("hm")]}, text("a"), text("b")]
    assert CHAT.read(completion(content=parts)).message.text == "ab"
    assert MESSAGES.read(message(THOUGHT, text("a"), text("b"))).message.text == "ab"


def test_refusal_of_a_completion_is_its_text() -> None:
    assert CHAT.read(completion(content=None, refusal="I cannot")).message.text == "I cannot"


def test_tokens_of_a_cache_count_as_read() -> None:
    cached = {"cache_creation_input_tokens": 3, "cache_read_input_tokens": 4}
    result = message(text("a"), **cached)
    read = make_reader(MESSAGES.step, spec_of(ADDON.actions["createMessage"].gives))
    answer = MESSAGES.read(read(result))
    assert (answer.tokens_in, answer.tokens_out) == (27, 5)
    for usage in (None, {"input_tokens": None, "output_tokens": "5"}):
        counted = MESSAGES.read({**result, "usage": usage})
        assert (counted.tokens_in, counted.tokens_out) == (0, 0)


def test_answer_at_a_limit_is_cut() -> None:
    assert CHAT.read(completion("length", content="a")).is_cut
    assert CHAT.read(completion("content_filter", content="a")).is_cut
    assert not CHAT.read(completion(content="a")).is_cut
    for reason in ("max_tokens", "model_context_window_exceeded", "pause_turn"):
        assert MESSAGES.read(message(text("a"), reason=reason)).is_cut
    assert not MESSAGES.read(message(text("a"), reason="stop_sequence")).is_cut


def test_last_call_of_a_cut_message_has_no_arguments() -> None:
    answer = MESSAGES.read(message(used(), used(id="toolu_2"), reason="max_tokens"))
    assert [call.arguments for call in answer.message.calls] == [{"id": 7}, None]
    assert answer.message.calls[1].text == '{"id":7}'
    assert mistakes_in(MESSAGES, body_of(MESSAGES, next_messages(answer))) == []


@pytest.mark.parametrize(
    ("dialect", "result", "expected"),
    [(CHAT, None, "has no 'choices"), (CHAT, {"choices": []}, "has no 'choices"),
     (CHAT, {"choices": [{"message": "x"}]}, "has no 'choices"),
     (CHAT, completion(content=None), "neither a text nor a call"),
     (CHAT, completion(content=[{"type": "image"}], tool_calls=7), "neither a text nor a call"),
     (CHAT, completion("length", content=""), "raise 'maxTokens'"),
     (CHAT, completion("content_filter", content=" "), "the vendor's filter"),
     (MESSAGES, [], "has no list 'content'"), (MESSAGES, {"content": "x"}, "has no list 'content'"),
     (MESSAGES, message(), "neither a text nor a call"),
     (MESSAGES, message(THOUGHT, reason="max_tokens"), "raise 'maxTokens'"),
     (MESSAGES, message(text("Well"), reason="refusal"), "refused")],
)  # fmt: skip
def test_answer_without_content_is_a_failure(
    dialect: ModelDialect, result: Any, expected: str
) -> None:
    with pytest.raises(AddonFailure, match=expected) as failure:
        dialect.read(result)
    assert failure.value.code == "addon-answer"
