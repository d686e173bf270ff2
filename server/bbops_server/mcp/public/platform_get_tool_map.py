"""platform_get_tool_map: which tool is at which address, and what it takes to call it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolResult
from bbops_server.mcp.public._takes import Nothing
from bbops_server.mcp.public_context import MCP_PATH, PublicContext
from bbops_server.mcp.servers import PROJECT, PUBLIC, tools_of


class Line(msgspec.Struct, frozen=True):
    """One tool. `scope` is empty for a tool of everybody."""

    name: str
    category: str
    scope: str
    purpose: str


class Server(msgspec.Struct, frozen=True):
    """One address, or how it is found."""

    address: str
    tools: list[Line]


class ToolMap(ToolResult, frozen=True):
    """Both servers."""

    public: Server
    project: Server
    order: list[str]


async def show(at: PublicContext, _: Nothing) -> ToolMap:
    """Show both."""
    project = "the mcpUrl that project_select returns, exactly as it is"
    return ToolMap(
        public=Server(at.link(MCP_PATH), _lines(tools_of(PUBLIC))),
        project=Server(project, _lines(tools_of(PROJECT))),
        order=["context", "preview", "validate", "apply", "publish", "review", "recovery"],
        next=[NextCall("project_list", why="how to get a project's URL")],
    )  # fmt: skip


def _lines(tools: Mapping[str, McpTool[Any]]) -> list[Line]:
    found = tools.values()
    return [Line(one.name, one.category, one.scope, one.description) for one in found]


TOOL = McpTool(
    "platform_get_tool_map",
    "Tool map",
    "Every tool of this server and of a project's server, with its scope and purpose.",
    Nothing,
    ToolMap,
    show,
    scope="",
)
