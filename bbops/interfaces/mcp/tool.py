"""One tool of an MCP server: what an agent reads of it, what it takes and gives, what it does.

A tool is one file of its family's package, with one `TOOL`. Here is nothing of the protocol: who
speaks it asks `find_tools`, and hands arguments to `call`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar, cast

import msgspec

from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError
from bbops.base.registry import members
from bbops.interfaces.mcp.shape import describe, find_wanted

Place = TypeVar("Place")
Scope = Literal["", "api", "builder", "ai", "project", "data"]
MOST_CALLS: Final = 3


class Call(msgspec.Struct, frozen=True):
    """A call that is a good next one, whole: an agent may make it as it stands."""

    tool: str
    arguments: dict[str, Any] = {}
    why: str = ""


class Takes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What a tool takes; each derives its own, with a description of each field."""


class Gives(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a tool gives; it is the whole result, for some clients show nothing else.

    `next` has at most three calls.
    """

    next: list[Call] = []


class Refused(Exception):
    """A call that cannot be done as it was made, in words for the agent that made it."""

    def __init__(self, message: str, *, hint: str = "", next: tuple[Call, ...] = ()) -> None:  # noqa: A002
        """Args: `next`: calls by which it goes on."""
        super().__init__(message)
        self.message, self.hint, self.next = message, str(hint), next[:MOST_CALLS]


@dataclass(frozen=True, slots=True)
class Hints:
    """What a client may think of a tool before it asks its person; none of it is a permission."""

    reads_only: bool = False
    destroys: bool = False
    is_idempotent: bool = True
    reaches_out: bool = False


READS: Final = Hints(reads_only=True)
WRITES: Final = Hints()


@dataclass(frozen=True, slots=True)
class Tool(Generic[Place]):
    """A tool.

    Attributes:
        name: `<category>_<noun>`.
        title: for people.
        description: when to call it, in a sentence or two: every agent pays for each word.
        takes, gives: its arguments and its result.
        run: does it, at a place that knows who asks.
        scope: what a token must have; empty for a tool of everybody.
        hints: what it does to the world.
    """

    name: str
    title: str
    description: str
    takes: type[Takes]
    gives: type[Gives]
    run: Callable[[Place, Any], Awaitable[Gives]]
    scope: Scope = "project"
    hints: Hints = READS

    @property
    def category(self) -> str:
        """The first word of its name."""
        return self.name.partition("_")[0]

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        return describe(self.takes)

    @property
    def output_schema(self) -> dict[str, Any]:
        """JSON Schema of the result."""
        return describe(self.gives)


def find_tools(package: str) -> Mapping[str, Tool[Any]]:
    """Return every tool of a package by name, in the order of the names."""
    found = (cast("Tool[Any]", module.TOOL) for _, module in members(package))
    return {one.name: one for one in sorted(found, key=lambda one: one.name)}


def find_tool(tools: Mapping[str, Tool[Any]], name: str) -> Tool[Any]:
    """Return a tool. Raises: Refused: there is none; the nearest name is said."""
    if name in tools:
        return tools[name]
    near = suggest(name, tools) or "tools/list lists them"
    raise Refused(f"there is no tool '{name[:64]}'", hint=near)


async def call(tool: Tool[Place], place: Place, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Do what a tool does; return its whole result as JSON values.

    Raises:
        Refused: the arguments are wrong, or it cannot be done.
    """
    try:
        taken = msgspec.convert(arguments, tool.takes)
    except msgspec.ValidationError as error:
        said = f"arguments of {tool.name}: {_lower(str(error))}"
        raise Refused(said, hint=find_wanted(tool.input_schema, str(error))) from None
    try:
        given = await tool.run(place, taken)
    except BbopsError as error:
        raise Refused(error.message, hint=error.hint) from None
    return cast("dict[str, Any]", msgspec.to_builtins(given))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
