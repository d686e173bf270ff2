"""A tool of an MCP server: its description, its parameters, its result and its function.

A tool is a module of its package, with a `TOOL`. This module does not depend on the protocol: a
server gets the tools from `find_tools`, and passes arguments to `call`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar, cast

import msgspec

from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError
from bbops.base.registry import members
from bbops.interfaces.mcp.json_schema import describe, describe_expected

Backend = TypeVar("Backend")
Scope = Literal["", "api", "builder", "ai", "project", "data"]
MAX_NEXT_CALLS: Final = 3


class NextCall(msgspec.Struct, frozen=True):
    """A suggested next call with all arguments: an agent can send it unchanged."""

    tool: str
    arguments: dict[str, Any] = {}
    why: str = ""


class ToolParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The parameters of a tool; each tool has a subclass with descriptions of its fields."""


class ToolResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a tool, always complete, because some clients show nothing else.

    `next` has at most three calls.
    """

    next: list[NextCall] = []


class ToolError(Exception):
    """A call that cannot be done; the message is for the agent."""

    def __init__(self, message: str, *, hint: str = "", next: tuple[NextCall, ...] = ()) -> None:  # noqa: A002
        """Args: `next`: the calls that solve the problem."""
        super().__init__(message)
        self.message, self.hint, self.next = message, str(hint), next[:MAX_NEXT_CALLS]


@dataclass(frozen=True, slots=True)
class ToolHints:
    """Hints about a tool's effects, for a client's confirmation; they are not permissions."""

    reads_only: bool = False
    destroys: bool = False
    is_idempotent: bool = True
    reaches_out: bool = False


READS: Final = ToolHints(reads_only=True)
WRITES: Final = ToolHints()


@dataclass(frozen=True, slots=True)
class McpTool(Generic[Backend]):
    """A tool.

    Attributes:
        name: `<category>_<noun>`.
        title: the display name.
        description: when to call it, in a sentence or two: every word costs tokens.
        takes, gives: the structs of its parameters and its result.
        run: the function, with the backend of the caller.
        scope: the required scope of the token; empty if none is required.
        hints: its effects.
    """

    name: str
    title: str
    description: str
    takes: type[ToolParams]
    gives: type[ToolResult]
    run: Callable[[Backend, Any], Awaitable[ToolResult]]
    scope: Scope = "project"
    hints: ToolHints = READS

    @property
    def category(self) -> str:
        """The first word of the name."""
        return self.name.partition("_")[0]

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the parameters."""
        return describe(self.takes)

    @property
    def output_schema(self) -> dict[str, Any]:
        """The JSON Schema of the result."""
        return describe(self.gives)


def find_tools(package: str) -> Mapping[str, McpTool[Any]]:
    """Return the tools of a package by name, in the order of the names."""
    tools = (cast("McpTool[Any]", module.TOOL) for _, module in members(package))
    return {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}


def find_tool(tools: Mapping[str, McpTool[Any]], name: str) -> McpTool[Any]:
    """Return a tool. Raises: Refused: the tool does not exist; the hint has a similar name."""
    if name in tools:
        return tools[name]
    near = suggest(name, tools) or "tools/list lists the tools"
    raise ToolError(f"there is no tool '{name[:64]}'", hint=near)


async def call(
    tool: McpTool[Backend], place: Backend, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Call a tool; return its whole result as JSON values.

    Raises:
        Refused: the arguments are not valid, or the call cannot be done.
    """
    try:
        params = msgspec.convert(arguments, tool.takes)
    except msgspec.ValidationError as error:
        message = f"arguments of {tool.name}: {_lower(str(error))}"
        raise ToolError(message, hint=describe_expected(tool.input_schema, str(error))) from None
    try:
        result = await tool.run(place, params)
    except BbopsError as error:
        raise ToolError(error.message, hint=error.hint) from None
    return cast("dict[str, Any]", msgspec.to_builtins(result))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
