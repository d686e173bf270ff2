"""project_list: the projects that somebody has access to."""

from __future__ import annotations

import msgspec

from bbops.interfaces.answers import Status
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolResult
from bbops_server.accounts.rules import role_in
from bbops_server.mcp.public._takes import Nothing
from bbops_server.mcp.public_context import PublicContext


class Line(msgspec.Struct, frozen=True, rename="camel"):
    """One project. `url` is its API's address, never that of its MCP server."""

    project_id: str
    url: str
    role: str
    ready: bool
    revision: str | None


class Projects(ToolResult, frozen=True):
    """All that somebody has a role in."""

    projects: list[Line]


async def show(at: PublicContext, _: Nothing) -> Projects:
    """Show them."""
    found = at.projects()
    if not found:
        create = NextCall("project_create", {"name": "my-backend"}, "shows how to create one")
        return Projects(projects=[], next=[create])
    choose = [NextCall("project_select", {"projectId": one.name}) for one in found[:2]]
    return Projects(projects=[_line(at, one) for one in found], next=choose)


def _line(at: PublicContext, status: Status) -> Line:
    role = role_in(at.caller, status.name)
    return Line(status.name, status.url, role or "", status.is_ready, status.applied_revision)


TOOL = McpTool(
    "project_list",
    "Projects",
    "Lists the projects that the signed-in person has access to, with their role.",
    Nothing,
    Projects,
    show,
)
