"""What a tool says of itself to agents, and how it takes a call."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
import pytest

from bbops.base.errors import GitError
from bbops.interfaces.mcp.tool import (
    McpTool,
    NextCall,
    ToolError,
    ToolParams,
    ToolResult,
    call,
    find_tool,
)
from tests.support.checkouts import TOOLS

pytestmark = pytest.mark.quick


class FindParams(ToolParams):
    """A docstring for readers of the code."""

    draft_name: Annotated[str, msgspec.Meta(description="a branch", max_length=5)]
    title: str = ""
    calls: list[NextCall] = []


class FindResult(ToolResult):
    """A result."""

    found_name: str


async def find(place: str, params: FindParams) -> FindResult:
    if params.draft_name == "gone":
        raise GitError("there is no branch 'gone'", hint="make it")
    return FindResult(found_name=place + params.draft_name, next=[NextCall("other_tool")])


FIND = McpTool("context_find", "Find", "Finds.", FindParams, FindResult, find)


def ask(arguments: dict[str, Any]) -> dict[str, Any]:
    return asyncio.run(call(FIND, "at ", arguments))


def test_a_schema_is_in_one_piece_without_words_for_readers_of_the_code() -> None:
    schema = FIND.input_schema
    assert schema["properties"]["draftName"] == {
        "type": "string", "description": "a branch", "maxLength": 5,
    }  # fmt: skip
    assert schema["required"] == ["draftName"]
    assert schema["additionalProperties"] is False
    assert "title" in schema["properties"]
    assert not {"title", "description", "$defs"} & set(schema)
    assert schema["properties"]["calls"]["items"]["required"] == ["tool"]


def test_a_result_is_whole() -> None:
    assert ask({"draftName": "main"}) == {
        "foundName": "at main",
        "next": [{"tool": "other_tool", "arguments": {}, "why": ""}],
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "missing required field `draftName`"),
        ({"draftName": "longer"}, "length <= 5"),
        ({"draftName": "a", "other": 1}, "unknown field `other`"),
        ({"draftName": 1}, "expected `str`"),
    ],
)
def test_wrong_arguments_are_refused_in_words(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolError) as caught:
        ask(arguments)
    assert said in caught.value.message
    assert caught.value.message.startswith("arguments of context_find: ")


@pytest.mark.parametrize(
    ("tool", "arguments", "hint"),
    [
        ("apply_changes", {"plan": "p"}, "it needs draft, plan, message"),
        ("context_schema", {"of": "x"}, "it may have kind, step, addon"),
        ("preview_changes", {"changes": [{"op": "patch", "ref": "a"}]},
         "one of: copy, delete, put, rename"),
        ("preview_changes", {"changes": [{"op": "put"}]},
         "it needs op, ref and may have body, path, value, to, base"),
        ("preview_request", {"draft": "a", "method": "GET", "path": "/", "query": {"a": 1}}, ""),
        ("context_get", {"a": 1}, "it takes no arguments"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_told_what_is_wanted(
    tool: str, arguments: dict[str, Any], hint: str
) -> None:
    with pytest.raises(ToolError) as caught:
        asyncio.run(call(find_tool(TOOLS, tool), None, arguments))
    assert caught.value.hint == hint


def test_an_error_of_ours_is_a_refusal_with_its_cure() -> None:
    with pytest.raises(ToolError) as caught:
        ask({"draftName": "gone"})
    assert (caught.value.message, caught.value.hint) == ("there is no branch 'gone'", "make it")


def test_an_unknown_tool_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(ToolError) as caught:
        find_tool({"context_find": FIND}, "context_fnid")
    assert "context_find" in caught.value.hint
