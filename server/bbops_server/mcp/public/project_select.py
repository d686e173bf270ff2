"""project_select: the exact address of one project's MCP server."""

from __future__ import annotations

from urllib.parse import quote

from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolResult
from bbops_server.mcp.public._takes import Chosen
from bbops_server.mcp.public_context import PublicContext


class Selected(ToolResult, frozen=True):
    """The addresses of a project. `mcp_url` is used unchanged, and never derived."""

    project_id: str
    mcp_url: str
    api_url: str
    dashboard_url: str


async def select(at: PublicContext, chosen: Chosen) -> Selected:
    """Return the addresses of a project."""
    found = at.project(chosen.project_id)
    bind = NextCall("project_connect", {"projectId": found.name}, "how this workspace is connected")
    return Selected(
        project_id=found.name, mcp_url=await at.mcp_url(found.name), api_url=found.url,
        dashboard_url=at.link(f"/projects/{quote(found.name)}"), next=[bind],
    )  # fmt: skip


TOOL = McpTool(
    "project_select",
    "Choose a project",
    "Returns a project's exact MCP address (mcpUrl) and its other addresses.",
    Chosen,
    Selected,
    select,
)
